package dev.tidepool.link;

/**
 * Kinds of memory at an end of a transfer, as the table of {@link TransferPaths} tells them apart.
 */
enum MemoryKind {
  /** Page-locked memory of the host. */
  PINNED,
  /** Other memory of the library's, which the driver copies from where it lies. */
  PLAIN,
  /** Like {@link #PLAIN}, where the driver would pass it through buffers of its own. */
  SLOW_PLAIN,
  /** Arrays, and memory of the caller's: no driver may touch it. */
  FOREIGN,
  /** A mapped file, or memory that processes share. */
  MAPPED,
  /** The device's own memory. */
  DEVICE,
  /** The memory of a device that this one reaches. */
  PEER,
  /** The memory of a device that this one does not reach. */
  UNREACHABLE
}
