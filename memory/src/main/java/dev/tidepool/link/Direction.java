package dev.tidepool.link;

/** The direction in which bytes moved. */
public enum Direction {
  /** From the host's memory to the device's. */
  HOST_TO_DEVICE,
  /** From the device's memory to the host's. */
  DEVICE_TO_HOST,
  /** From device memory to device memory, by the driver. */
  DEVICE_TO_DEVICE
}
