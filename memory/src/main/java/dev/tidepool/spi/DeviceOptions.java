package dev.tidepool.spi;

/**
 * Options of a {@code Tidepool} for the devices that a provider opens. They can switch abilities
 * off, but add none.
 *
 * @param managedMemory whether managed memory, whose pages the driver moves, serves UNIFIED
 *     buffers; otherwise the device does not report that capability
 * @param zeroCopyBuffers whether a device that shares the host's memory computes in it; otherwise
 *     it is opened like a device with its own memory, to which bytes are copied
 */
public record DeviceOptions(boolean managedMemory, boolean zeroCopyBuffers) {
  /** Returns the options that switch nothing off. */
  public static DeviceOptions defaults() {
    return new DeviceOptions(true, true);
  }
}
