package dev.tidepool.host;

/** The pages that a block is made of. */
public enum PageKind {
  /** The system's ordinary pages, 4 KiB on most. */
  SMALL,
  /**
   * Huge pages that the system puts together itself when the block is first touched, as far as it
   * finds memory: 2 MiB on most systems.
   */
  TRANSPARENT_HUGE,
  /**
   * Huge pages that the administrator has set aside, of 2 MiB or 1 GiB on most systems. They are
   * there from the start and never leave memory.
   */
  EXPLICIT_HUGE
}
