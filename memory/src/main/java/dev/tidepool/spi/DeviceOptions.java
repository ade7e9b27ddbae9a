package dev.tidepool.spi;

/**
 * What a {@code Tidepool} asks of the devices that a provider opens for it. What a device does not
 * have in any case stays so.
 *
 * @param managedMemory whether memory whose pages the driver moves may serve UNIFIED buffers;
 *     otherwise the device does not say that it has it
 * @param zeroCopyBuffers whether a device that shares the host's memory may compute in it;
 *     otherwise it is opened like a device with memory of its own, whose bytes are copied
 */
public record DeviceOptions(boolean managedMemory, boolean zeroCopyBuffers) {
  /** All that devices have. */
  public static DeviceOptions defaults() {
    return new DeviceOptions(true, true);
  }
}
