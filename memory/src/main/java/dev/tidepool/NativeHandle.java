package dev.tidepool;

import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * The native handle of a buffer's bytes.
 *
 * @param kind the kind of {@code value}
 * @param value an address, or the handle of a memory object
 * @param offset bytes from there to the first byte
 * @param byteSize the number of bytes
 */
public record NativeHandle(NativeKind kind, long value, long offset, long byteSize) {
  /**
   * Checks the numbers, but not whether the value is valid.
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

  /**
   * Returns a handle of the memory of a native segment.
   *
   * @throws IllegalArgumentException if the segment is on the heap
   */
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
   * @throws IllegalStateException if the kind is not a pointer: pass {@link #value()} and {@link
   *     #offset()} separately
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
   * has size 0, because the host may be unable to read there.
   *
   * <p>Nothing checks the lifetime of the memory: do not use the segment after the access that
   * returned the handle was closed. A queue does not order the host's use of shared virtual memory:
   * finish the queue before you touch the memory. If the device has only coarse-grained shared
   * memory, also map it first.
   *
   * @throws IllegalStateException if the kind is not a pointer
   */
  public MemorySegment segment() {
    MemorySegment start = MemorySegment.ofAddress(address());
    return kind == NativeKind.CUDA_POINTER ? start : start.reinterpret(byteSize);
  }
}
