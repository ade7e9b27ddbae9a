package dev.tidepool.testkit.fault;

/** How a call fails. */
public enum Failure {
  /**
   * The call does nothing and throws: out of memory from an allocation, an {@link
   * dev.tidepool.AcceleratorException} from anything else. A block is gone all the same, and an
   * event that refuses to be awaited does so for good.
   */
  REFUSED,
  /**
   * A command is accepted, does half of its work, and its event fails. Calls that are no commands
   * are {@link #REFUSED}, as are acquire and release.
   */
  BROKEN,
  /** Like {@link #BROKEN}, but the error says that a second try may succeed. */
  TRANSIENT,
  /**
   * A write is accepted, and one of its bytes arrives changed, without an error. All other calls
   * are as if no failure had been chosen.
   */
  DAMAGED,
  /** The device is lost: this call and all later ones that may fail do. */
  DEVICE_LOST
}
