package dev.tidepool.runtime.supply;

import dev.tidepool.AcceleratorException;
import dev.tidepool.MemoryInfo;
import dev.tidepool.spi.Device;

/**
 * When memory is so short that idle blocks go back although they are young: another process, or
 * another user of the device, needs the memory more than the next allocation needs the speed.
 */
public final class LowMemory {
  /** Less than one part in so many is free. */
  private static final int PART = 16;

  private LowMemory() {}

  public static boolean in(MemoryInfo memory) {
    return memory.totalBytes() > 0 && memory.freeBytes() < memory.totalBytes() / PART;
  }

  /**
   * Returns whether a device's memory is short; a device that does not answer any more has no
   * memory.
   */
  public static boolean on(Device device) {
    try {
      return in(device.memory());
    } catch (AcceleratorException e) {
      return false;
    }
  }
}
