package dev.tidepool.link;

/** The kinds of memory that the table of {@link TransferPaths} distinguishes. */
enum MemoryKind {
  /** Page-locked memory of the host. */
  PINNED,
  /** Other memory of the library, which the driver copies directly. */
  PLAIN,
  /** Like {@link #PLAIN}, but the driver would copy it through its own buffers. */
  SLOW_PLAIN,
  /** Arrays, and memory of the caller, which no driver may access. */
  FOREIGN,
  /** A mapped file, or memory shared between processes. */
  MAPPED,
  /** The device's own memory. */
  DEVICE,
  /** The memory of a device that this one reaches. */
  PEER,
  /** The memory of a device that this one does not reach. */
  UNREACHABLE
}
