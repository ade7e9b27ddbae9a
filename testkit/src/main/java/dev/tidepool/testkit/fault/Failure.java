package dev.tidepool.testkit.fault;

/** The way in which a call fails. */
public enum Failure {
  /**
   * The call does nothing and throws: out of memory for an allocation, an {@link
   * dev.tidepool.AcceleratorException} otherwise. A block is freed all the same, and an event whose
   * wait was refused always refuses it.
   */
  REFUSED,
  /**
   * A command is accepted and its event fails. It does half of its work, but a launch all of it.
   * Calls that are not commands are {@link #REFUSED}, and so are acquire and release.
   */
  BROKEN,
  /** Like {@link #BROKEN}, but the error says that a second try may succeed. */
  TRANSIENT,
  /**
   * A write is accepted, and one of its bytes is changed without an error. All other calls succeed.
   */
  DAMAGED,
  /** The device is lost: this call and all later calls that may fail do fail. */
  DEVICE_LOST
}
