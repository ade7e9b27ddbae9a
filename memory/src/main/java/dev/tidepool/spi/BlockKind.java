package dev.tidepool.spi;

/** The kind of memory of a block. */
public enum BlockKind {
  /** Memory of the device. */
  DEVICE,
  /** Page-locked memory of the host, which the device's copies access at full speed. */
  PINNED,
  /** Memory that host and device both address. */
  UNIFIED
}
