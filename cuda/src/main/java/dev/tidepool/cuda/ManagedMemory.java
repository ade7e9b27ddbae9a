package dev.tidepool.cuda;

import dev.tidepool.AcceleratorException;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.spi.HostAccess;
import dev.tidepool.spi.Placement;
import dev.tidepool.spi.support.FailureLog;
import java.lang.System.Logger.Level;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Memory whose pages move to where they are used. This class limits its amount and gives the driver
 * hints. Thread-safe; its calls need the device's context.
 */
final class ManagedMemory {
  private final String name;
  private final DeviceProperties device;
  private final boolean allowed;
  private final AtomicLong used = new AtomicLong();

  /**
   * Creates it for one device.
   *
   * @param name the device's name in messages
   * @param allowed whether the user's settings allow managed memory
   */
  ManagedMemory(String name, DeviceProperties device, boolean allowed) {
    this.name = name;
    this.device = device;
    this.allowed = allowed;
  }

  boolean isThere() {
    return device.managed() && allowed;
  }

  /** Returns the bytes of the largest block; with concurrent access its pages may be elsewhere. */
  long largest() {
    return isThere() && device.concurrentManaged() ? Long.MAX_VALUE : device.totalMemory();
  }

  HostAccess hostAccess() {
    return device.concurrentManaged() ? HostAccess.DIRECT : HostAccess.MAPPED;
  }

  /**
   * Checks that so many more bytes may be allocated.
   *
   * @throws UnsupportedOperationException if there is no managed memory
   * @throws OutOfDeviceMemoryException if they would need more memory than the card has
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

  /** Records a block, and gives the driver hints about its use. */
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
      // Pages that were evicted for lack of room are then accessed where they are.
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

  /** Records that a block was freed. */
  void freed(long bytes) {
    used.addAndGet(-bytes);
  }

  /** Gives a hint. If a driver refuses it, the memory is allocated anyway. */
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
