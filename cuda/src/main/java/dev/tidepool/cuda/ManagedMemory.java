package dev.tidepool.cuda;

import dev.tidepool.AcceleratorException;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.spi.HostAccess;
import dev.tidepool.spi.Placement;
import dev.tidepool.spi.support.FailureLog;
import java.lang.System.Logger.Level;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Memory whose pages go where they are used: how much of it there may be, and what the driver is
 * told of it. Thread-safe; its calls want the device's context.
 */
final class ManagedMemory {
  private final String name;
  private final DeviceProperties device;
  private final boolean allowed;
  private final AtomicLong used = new AtomicLong();

  /**
   * Creates it for one device.
   *
   * @param name what messages call the device
   * @param allowed whether the user's settings do
   */
  ManagedMemory(String name, DeviceProperties device, boolean allowed) {
    this.name = name;
    this.device = device;
    this.allowed = allowed;
  }

  boolean isThere() {
    return device.managed() && allowed;
  }

  /** Bytes of the largest block: with concurrent access its pages may lie elsewhere. */
  long largest() {
    return isThere() && device.concurrentManaged() ? Long.MAX_VALUE : device.totalMemory();
  }

  HostAccess hostAccess() {
    return device.concurrentManaged() ? HostAccess.DIRECT : HostAccess.MAPPED;
  }

  /**
   * Checks that there may be so much more.
   *
   * @throws UnsupportedOperationException if there is no managed memory
   * @throws OutOfDeviceMemoryException if it would have to lie beyond the card
   */
  void require(long bytes) {
    if (!isThere()) {
      throw new UnsupportedOperationException(
          name
              + (device.managed()
                  ? " does without managed memory, by tidepool.cuda.managed=none or the option"
                      + " managed-memory"
                  : " has no managed memory")
              + "; allocate DEVICE instead of UNIFIED");
    }
    long now = used.get();
    if (!device.concurrentManaged() && now + bytes > device.totalMemory()) {
      throw new OutOfDeviceMemoryException(
          name
              + " cannot allocate "
              + bytes
              + " bytes of managed memory: "
              + now
              + " are in use, and more than the card's "
              + device.totalMemory()
              + " needs concurrent managed access, which this device or system lacks",
          bytes,
          Math.max(0, device.totalMemory() - now),
          device.totalMemory(),
          -1);
    }
  }

  /** Notes a block, and tells the driver how it will be used. */
  void allocated(long address, long bytes, Placement placement) {
    used.addAndGet(bytes);
    if (!device.concurrentManaged()) {
      return;
    }
    if (placement.mostlyRead()) {
      advise(address, bytes, Cuda.CU_MEM_ADVISE_SET_READ_MOSTLY);
    }
    if (placement.mostlyDevice()) {
      advise(address, bytes, Cuda.CU_MEM_ADVISE_SET_PREFERRED_LOCATION);
      // Pages that left because there was no room are then reached where they are.
      advise(address, bytes, Cuda.CU_MEM_ADVISE_SET_ACCESSED_BY);
    }
    if (placement.mostlyHost()) {
      advise(address, bytes, Cuda.CU_MEM_ADVISE_SET_PREFERRED_LOCATION, Cuda.CU_DEVICE_CPU);
      advise(address, bytes, Cuda.CU_MEM_ADVISE_SET_ACCESSED_BY);
    }
    if (placement.mostlyShared()) {
      advise(address, bytes, Cuda.CU_MEM_ADVISE_SET_ACCESSED_BY);
      advise(address, bytes, Cuda.CU_MEM_ADVISE_SET_ACCESSED_BY, Cuda.CU_DEVICE_CPU);
    }
  }

  /** Notes that a block is gone. */
  void freed(long bytes) {
    used.addAndGet(-bytes);
  }

  /** Hints are wishes: a driver that refuses one has allocated all the same. */
  private void advise(long address, long bytes, int advice) {
    advise(address, bytes, advice, device.handle());
  }

  private void advise(long address, long bytes, int advice, int processor) {
    try {
      Cuda.cuMemAdvise(address, bytes, advice, processor);
    } catch (AcceleratorException refused) {
      FailureLog.ofDriver(ManagedMemory.class, Level.DEBUG, name, " does not take a hint", refused);
    }
  }
}
