package dev.tidepool;

/**
 * Where a buffer's memory is allocated first; the other side's copy is made when it is first
 * needed.
 */
public enum MemoryLocation {
  /** In the accelerator's own memory: fastest for kernels. */
  DEVICE,
  /** In plain memory of the host: fastest to allocate, reachable by Java at once. */
  HOST,
  /** In page-locked memory of the host: the fastest source and target of transfers. */
  PINNED,
  /** In memory that host and accelerator both address: no transfer is ever asked for. */
  UNIFIED
}
