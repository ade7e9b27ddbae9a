package dev.tidepool.spi;

/** What memory of a device a block is. */
public enum BlockKind {
  /** The device's own. */
  DEVICE,
  /** Page-locked memory of the host that the device's copies reach at full speed. */
  PINNED,
  /** Memory that host and device both address. */
  UNIFIED
}
