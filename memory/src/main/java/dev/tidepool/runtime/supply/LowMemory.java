package dev.tidepool.runtime.supply;

import dev.tidepool.AcceleratorException;
import dev.tidepool.MemoryInfo;
import dev.tidepool.spi.Device;

/**
 * Decides when memory is so short that even recently used idle blocks are freed: other processes or
 * users of the device need the memory more than the next allocation needs a fast block.
 */
public final class LowMemory {
  /** Memory is short if less than 1 / {@code PART} of it is free. */
  private static final int PART = 16;

  private LowMemory() {}

  public static boolean in(MemoryInfo memory) {
    return memory.totalBytes() > 0 && memory.freeBytes() < memory.totalBytes() / PART;
  }

  /** Returns whether a device's memory is short; false if the device fails to answer. */
  public static boolean on(Device device) {
    try {
      return in(device.memory());
    } catch (AcceleratorException e) {
      return false;
    }
  }
}
