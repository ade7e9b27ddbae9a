package dev.tidepool;

import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * Where native code finds the bytes of a buffer.
 *
 * @param kind what {@code value} is
 * @param value an address, or the handle of a memory object
 * @param offset bytes from there to the first byte
 * @param byteSize the number of bytes
 */
public record NativeHandle(NativeKind kind, long value, long offset, long byteSize) {
  /**
   * Checks the numbers; whether the value is valid is not known here.
   *
   * @throws IllegalArgumentException if the offset or the size is negative
   */
  public NativeHandle {
    Objects.requireNonNull(kind, "kind");
    if (offset < 0 || byteSize < 0) {
      throw new IllegalArgumentException(
          "offset " + offset + " and size " + byteSize + " must not be negative");
    }
  }

  /** Returns a handle of the memory under a native segment. */
  public static NativeHandle of(MemorySegment segment) {
    if (!segment.isNative()) {
      throw new IllegalArgumentException(
          "the segment is on the Java heap, whose addresses change; allocate it from an Arena");
    }
    return new NativeHandle(NativeKind.HOST_POINTER, segment.address(), 0, segment.byteSize());
  }

  /**
   * Returns the address of the first byte.
   *
   * @throws IllegalStateException if the kind is no pointer: pass {@link #value()} and {@link
   *     #offset()} separately then
   */
  public long address() {
    if (!kind.isPointer()) {
      throw new IllegalStateException(
          kind + " is a memory object, not an address; pass value() and offset() separately");
    }
    return value + offset;
  }

  /**
   * Returns the bytes as a segment. For {@link NativeKind#HOST_POINTER} and {@link
   * NativeKind#OPENCL_SVM} it has the size of the buffer; for {@link NativeKind#CUDA_POINTER} it
   * has size 0, since the host may not be able to read there.
   *
   * <p>Nothing checks how long the memory lives: do not use the segment after the access that the
   * handle came from was closed. Shared virtual memory is not ordered by a queue for the host:
   * finish the queue before you touch it, and map it first where the device has only coarse-grained
   * shared memory.
   *
   * @throws IllegalStateException if the kind is no pointer
   */
  public MemorySegment segment() {
    MemorySegment start = MemorySegment.ofAddress(address());
    return kind == NativeKind.CUDA_POINTER ? start : start.reinterpret(byteSize);
  }
}
