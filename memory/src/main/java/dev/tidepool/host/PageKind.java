package dev.tidepool.host;

/** The kind of a block's pages. */
public enum PageKind {
  /** The system's ordinary pages, 4 KiB on most systems. */
  SMALL,
  /**
   * Huge pages that the system assembles when the block is first touched, if it finds memory. 2 MiB
   * on most systems.
   */
  TRANSPARENT_HUGE,
  /**
   * Huge pages that the administrator has reserved, of 2 MiB or 1 GiB on most systems. They exist
   * from the start and always stay in memory.
   */
  EXPLICIT_HUGE
}
