package dev.tidepool.interop;

import dev.tidepool.NativeHandle;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.runtime.buffer.DeviceHold;
import dev.tidepool.runtime.buffer.HostHold;

/**
 * The exported copy of a buffer, as DLPack and Arrow describe it.
 *
 * @param data an address, or the handle of a memory object
 * @param offset the bytes from there to the first byte; 0 for an address
 * @param ending ends the consumer's use; may run more than once
 */
record ExportedMemory(int deviceType, int deviceNumber, long data, long offset, Runnable ending) {

  /**
   * Copies the newest bytes to the host or the device, and holds the copy there.
   *
   * @param writing whether the consumer may write the bytes
   * @param atStart whether the memory object must begin with the bytes
   */
  static ExportedMemory of(
      UnifiedBuffer<?> buffer, boolean writing, boolean onHost, boolean atStart) {
    if (onHost) {
      HostHold hold = HostHold.of(buffer, writing);
      return new ExportedMemory(DeviceTypes.CPU, 0, hold.address(), 0, hold::end);
    }
    DeviceHold hold = DeviceHold.of(buffer, writing, atStart);
    try {
      NativeHandle handle = hold.handle();
      boolean pointer = handle.kind().isPointer();
      return new ExportedMemory(
          DeviceTypes.of(handle.kind()),
          hold.deviceNumber(),
          pointer ? handle.address() : handle.value(),
          pointer ? 0 : handle.offset(),
          hold::end);
    } catch (RuntimeException | Error e) {
      hold.end();
      throw e;
    }
  }

  /** Ends the consumer's use. Idempotent; does not wait. */
  void end() {
    ending.run();
  }
}
