package dev.tidepool.metal;

import dev.tidepool.NativeHandle;
import dev.tidepool.NativeKind;

/** Checks of buffers that code outside of Tidepool created, before commands use them. */
final class ForeignMemory {
  private ForeignMemory() {}

  /**
   * Returns a block over a buffer of the device; freeing the block does not free the buffer.
   *
   * @param handle a handle whose memory begins at offset 0
   * @throws IllegalArgumentException if the buffer is of another device, is smaller than the handle
   *     says, or has a storage mode that Tidepool does not support
   */
  static MetalBlock adopt(MetalDevice device, NativeHandle handle) {
    if (handle.kind() != NativeKind.METAL_BUFFER) {
      throw new IllegalArgumentException(
          device.info().id()
              + " has memory of kind METAL_BUFFER, and this is "
              + handle.kind()
              + "; copy it to the host, and adopt that as HOST_POINTER");
    }
    long buffer = handle.value();
    if (buffer == 0) {
      throw new IllegalArgumentException("0 is no id<MTLBuffer>");
    }
    if (Metal.deviceOfBuffer(buffer) != device.handle()) {
      throw new IllegalArgumentException(
          "the MTLBuffer is of another device than "
              + device.info().id()
              + "; create it with NativeAccess.device()");
    }
    long length = Metal.length(buffer);
    if (handle.byteSize() > length) {
      throw new IllegalArgumentException(
          "the MTLBuffer has "
              + length
              + " bytes, and offset and size of the handle end at byte "
              + handle.byteSize());
    }
    long storage = Metal.storageMode(buffer);
    if (storage != Metal.STORAGE_MODE_SHARED && storage != Metal.STORAGE_MODE_PRIVATE) {
      throw new IllegalArgumentException(
          "the MTLBuffer has storage mode "
              + storage
              + "; create it with MTLResourceStorageModeShared or MTLResourceStorageModePrivate");
    }
    return device.blocks().adopt(buffer, handle.byteSize());
  }
}
