package dev.tidepool;

/**
 * Where a buffer's memory is allocated first. The other side's copy is created when it is first
 * needed.
 */
public enum MemoryLocation {
  /** In the accelerator's own memory: fastest for kernels. */
  DEVICE,
  /** In plain memory of the host: fastest to allocate, accessible from Java at once. */
  HOST,
  /** In page-locked memory of the host: the fastest source and target of transfers. */
  PINNED,
  /** In memory that both host and accelerator address: the library makes no transfers. */
  UNIFIED
}
