package dev.tidepool.opencl;

import dev.tidepool.NativeHandle;
import dev.tidepool.NativeKind;
import dev.tidepool.spi.NativeMemory;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** Handles of blocks for code outside of Tidepool. */
final class LentMemory {
  private LentMemory() {}

  /**
   * Returns a handle of a part of a block.
   *
   * @param kind null for the block's own kind
   */
  static NativeMemory of(
      OpenClDevice device, OpenClBlock block, long offset, long bytes, @Nullable NativeKind kind) {
    return switch (block) {
      case BufferBlock buffer when kind == null ->
          NativeMemory.of(
              new NativeHandle(NativeKind.OPENCL_BUFFER, buffer.buffer(), offset, bytes));
      case BufferBlock buffer when kind == NativeKind.OPENCL_BUFFER ->
          part(device, buffer, offset, bytes);
      case SharedPointerBlock pointer when kind == null || kind == NativeKind.OPENCL_SVM ->
          NativeMemory.of(
              new NativeHandle(
                  NativeKind.OPENCL_SVM, pointer.bytes(offset, bytes).address(), 0, bytes));
      case SharedPointerBlock pointer when kind == NativeKind.OPENCL_BUFFER ->
          over(device, pointer.bytes(offset, bytes));
      default ->
          throw new UnsupportedOperationException(
              "this memory of "
                  + device.info().id()
                  + " is no "
                  + kind
                  + "; ask for OPENCL_BUFFER, or for no kind");
    };
  }

  /** Returns a buffer object that begins with the part: many libraries do not support offsets. */
  private static NativeMemory part(
      OpenClDevice device, BufferBlock buffer, long offset, long bytes) {
    checkNotEmpty(bytes);
    if (offset == 0) {
      return NativeMemory.of(new NativeHandle(NativeKind.OPENCL_BUFFER, buffer.buffer(), 0, bytes));
    }
    long alignment = device.properties().baseAlignment();
    if (!buffer.hasPartAt(offset, alignment)) {
      throw new IllegalArgumentException(
          "a cl_mem that begins at byte "
              + offset
              + " of a buffer cannot be made: "
              + device.info().id()
              + " needs a multiple of "
              + alignment
              + "; slice at such bytes, or copy the slice to a buffer of its own");
    }
    return owned(buffer.part(offset, bytes), bytes);
  }

  private static NativeMemory over(OpenClDevice device, MemorySegment memory) {
    checkNotEmpty(memory.byteSize());
    return owned(AsBuffer.over(device.context(), memory), memory.byteSize());
  }

  private static NativeMemory owned(AsBuffer made, long bytes) {
    return new NativeMemory(
        new NativeHandle(NativeKind.OPENCL_BUFFER, made.buffer(), 0, bytes), made::close);
  }

  private static void checkNotEmpty(long bytes) {
    if (bytes == 0) {
      throw new IllegalArgumentException("OpenCL has no cl_mem of 0 bytes; leave this buffer out");
    }
  }
}
