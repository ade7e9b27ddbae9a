package dev.tidepool.cuda;

import dev.tidepool.AcceleratorException;
import dev.tidepool.NativeHandle;
import dev.tidepool.NativeKind;
import java.util.OptionalLong;

/** Checks of memory that code outside of Tidepool allocated, before commands use it. */
final class ForeignMemory {
  private static final int CU_POINTER_ATTRIBUTE_CONTEXT = 1;
  private static final int CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2;
  private static final int CU_POINTER_ATTRIBUTE_IS_MANAGED = 8;
  private static final int CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9;
  private static final int CU_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11;
  private static final int CU_POINTER_ATTRIBUTE_RANGE_SIZE = 12;
  private static final long CU_MEMORYTYPE_HOST = 1;

  private ForeignMemory() {}

  /**
   * Checks memory. The context is current.
   *
   * @throws IllegalArgumentException if the driver does not know all of the memory, or if the
   *     memory is the host's or another device's or context's
   */
  static void check(CudaDevice device, NativeHandle memory) {
    String id = device.info().id();
    if (memory.kind() != NativeKind.CUDA_POINTER) {
      throw new IllegalArgumentException(
          id
              + " has memory of kind CUDA_POINTER, and this is "
              + memory.kind()
              + "; copy it to the host, and adopt that as HOST_POINTER");
    }
    long end = memory.address() + memory.byteSize();
    // The driver knows memory that is mapped piece by piece only by its pieces.
    for (long at = memory.address(); at < end; ) {
      at = checkPiece(device, id, memory, at);
    }
  }

  /** Checks the piece that an address is in, and returns its end. */
  private static long checkPiece(CudaDevice device, String id, NativeHandle memory, long at) {
    long type;
    try {
      type = Cuda.cuPointerGetAttribute(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at);
    } catch (AcceleratorException refused) {
      throw new IllegalArgumentException(
          at == memory.address()
              ? "%#x is no memory of %s: %s".formatted(at, id, refused.getMessage())
              : "the memory at %#x ends after %s of %s bytes"
                  .formatted(memory.address(), at - memory.address(), memory.byteSize()),
          refused);
    }
    boolean managed = attribute(CU_POINTER_ATTRIBUTE_IS_MANAGED, at).orElse(0) != 0;
    if (type == CU_MEMORYTYPE_HOST && !managed) {
      throw new IllegalArgumentException(
          "the memory at %#x is page-locked memory of the host; adopt it as HOST_POINTER"
              .formatted(at));
    }
    int ordinal = (int) attribute(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, at).orElse(-1);
    if (!managed && ordinal != device.properties().handle()) {
      throw new IllegalArgumentException(
          "the memory at %#x is of CUDA device %s, and this manager's is %s; adopt it with a manager of its device"
              .formatted(at, ordinal, id));
    }
    // Memory of pools and mapped memory belong to no context.
    long context = attribute(CU_POINTER_ATTRIBUTE_CONTEXT, at).orElse(0);
    if (context != 0 && context != device.context().handle()) {
      throw new IllegalArgumentException(
          "the memory at %#x is of another context than that of %s; allocate it while NativeAccess.context() is current"
              .formatted(at, id));
    }
    OptionalLong start = attribute(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, at);
    OptionalLong size = attribute(CU_POINTER_ATTRIBUTE_RANGE_SIZE, at);
    return start.isPresent() && size.isPresent()
        ? start.getAsLong() + size.getAsLong()
        : memory.address() + memory.byteSize();
  }

  /** Returns an attribute that not all memory has. */
  private static OptionalLong attribute(int attribute, long address) {
    try {
      return OptionalLong.of(Cuda.cuPointerGetAttribute(attribute, address));
    } catch (AcceleratorException none) {
      return OptionalLong.empty();
    }
  }
}
