package dev.tidepool;

/** Which copies of a buffer exist, and which is the newest. */
public enum BufferState {
  /** The bytes exist on the host only. */
  HOST_ONLY,
  /** The bytes exist on the device only. */
  DEVICE_ONLY,
  /** Both copies exist and are equal. */
  SYNCHRONIZED,
  /** Both copies exist; some range of the host's copy is newer. */
  HOST_DIRTY,
  /** Both copies exist; some range of the device's copy is newer. */
  DEVICE_DIRTY
}
