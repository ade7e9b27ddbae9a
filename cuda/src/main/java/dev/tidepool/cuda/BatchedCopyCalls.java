package dev.tidepool.cuda;

import static dev.tidepool.cuda.NativeCall.code;
import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * The driver's function for many copies, which is newer than the oldest supported driver. It is not
 * in {@link Cuda}, because many processes never call it and linking takes time.
 *
 * <p>The function has two signatures: that of CUDA 12.8, and that of CUDA 13.0 without {@code
 * failIdx}. A driver returns the function of the requested CUDA version, so a request for 12.8
 * works with all drivers.
 */
final class BatchedCopyCalls {
  private static final int SINCE = 12_080;
  private static final int CU_MEMCPY_SRC_ACCESS_ORDER_STREAM = 1;
  // sizeof(CUmemcpyAttributes): the order, two locations as hints, and flags.
  private static final long ATTRIBUTES_BYTES = 24;

  private static final MethodHandle GET_PROC_ADDRESS =
      Installed.DRIVER.code("cuGetProcAddress_v2", ADDRESS, ADDRESS, JAVA_INT, JAVA_LONG, ADDRESS);
  private static final MethodHandle MEMCPY_BATCH =
      Linker.nativeLinker()
          .downcallHandle(
              FunctionDescriptor.of(
                  JAVA_INT, ADDRESS, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS, JAVA_LONG,
                  ADDRESS, JAVA_LONG));

  private BatchedCopyCalls() {}

  /** Returns the address of {@code cuMemcpyBatchAsync}; null if the driver has none. */
  static MemorySegment find() {
    if (!Installed.DRIVER.has("cuGetProcAddress_v2") || Cuda.cuDriverGetVersion() < SINCE) {
      return MemorySegment.NULL;
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment name = arena.allocateFrom("cuMemcpyBatchAsync");
      long found =
          NativeCall.get(
              "cuGetProcAddress_v2",
              address ->
                  (int) GET_PROC_ADDRESS.invokeExact(name, address, SINCE, 0L, MemorySegment.NULL));
      return MemorySegment.ofAddress(found);
    }
  }

  /**
   * Submits copies that read their sources in the stream's order, and have no order among
   * themselves. Returns the code, because refused copies can be done in another way.
   *
   * @param function the address returned by {@link #find}
   * @param destinations addresses, as 64-bit numbers
   * @param sources as many
   * @param sizes in bytes, none of them zero
   * @param arena for the other memory of the call
   */
  static int cuMemcpyBatchAsync(
      MemorySegment function,
      MemorySegment destinations,
      MemorySegment sources,
      MemorySegment sizes,
      long stream,
      Arena arena) {
    MemorySegment attributes = arena.allocate(ATTRIBUTES_BYTES, Integer.BYTES);
    attributes.set(JAVA_INT, 0, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM);
    MemorySegment firstCopy = arena.allocate(JAVA_LONG);
    MemorySegment failed = arena.allocate(JAVA_LONG);
    long count = sizes.byteSize() / Long.BYTES;
    return code(
        "cuMemcpyBatchAsync",
        () ->
            (int)
                MEMCPY_BATCH.invokeExact(
                    function,
                    destinations,
                    sources,
                    sizes,
                    count,
                    attributes,
                    firstCopy,
                    1L,
                    failed,
                    stream));
  }
}
