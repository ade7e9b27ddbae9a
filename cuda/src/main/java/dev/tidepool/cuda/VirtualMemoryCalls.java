package dev.tidepool.cuda;

import static dev.tidepool.cuda.NativeCall.call;
import static dev.tidepool.cuda.NativeCall.release;
import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.Collection;

/**
 * The driver's functions for virtual memory, which treat addresses, memory and access separately.
 * They follow the rules of {@link Cuda}, and are separate because many processes never call them
 * and linking takes time.
 */
final class VirtualMemoryCalls {
  private static final int CU_MEM_ALLOCATION_TYPE_PINNED = 1;
  private static final int CU_MEM_LOCATION_TYPE_DEVICE = 1;
  private static final int CU_MEM_HANDLE_TYPE_NONE = 0;
  private static final int CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR = 1;
  private static final int CU_MEM_ALLOC_GRANULARITY_MINIMUM = 0;
  private static final int CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3;
  // sizeof(CUmemAllocationProp) and sizeof(CUmemAccessDesc).
  private static final long PROPERTIES_BYTES = 32;
  private static final long ACCESS_BYTES = 12;

  private static final MethodHandle GET_GRANULARITY =
      Installed.DRIVER.code("cuMemGetAllocationGranularity", ADDRESS, ADDRESS, JAVA_INT);
  private static final MethodHandle ADDRESS_RESERVE =
      Installed.DRIVER.code(
          "cuMemAddressReserve", ADDRESS, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
  private static final MethodHandle ADDRESS_FREE =
      Installed.DRIVER.code("cuMemAddressFree", JAVA_LONG, JAVA_LONG);
  private static final MethodHandle CREATE =
      Installed.DRIVER.code("cuMemCreate", ADDRESS, JAVA_LONG, ADDRESS, JAVA_LONG);
  private static final MethodHandle RELEASE = Installed.DRIVER.code("cuMemRelease", JAVA_LONG);
  private static final MethodHandle MAP =
      Installed.DRIVER.code("cuMemMap", JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
  private static final MethodHandle UNMAP =
      Installed.DRIVER.code("cuMemUnmap", JAVA_LONG, JAVA_LONG);
  private static final MethodHandle EXPORT =
      Installed.DRIVER.code(
          "cuMemExportToShareableHandle", ADDRESS, JAVA_LONG, JAVA_INT, JAVA_LONG);
  private static final MethodHandle IMPORT =
      Installed.DRIVER.code("cuMemImportFromShareableHandle", ADDRESS, JAVA_LONG, JAVA_INT);
  private static final MethodHandle SET_ACCESS =
      Installed.DRIVER.code("cuMemSetAccess", JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_LONG);

  private VirtualMemoryCalls() {}

  /** Returns the unit of the sizes of memory and mappings of a device, in bytes. */
  static long cuMemGetAllocationGranularity(int device) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment properties = properties(device, CU_MEM_HANDLE_TYPE_NONE, arena);
      return NativeCall.get(
          "cuMemGetAllocationGranularity",
          bytes ->
              (int)
                  GET_GRANULARITY.invokeExact(bytes, properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    }
  }

  /** Reserves addresses, without memory, that no other caller gets. */
  static long cuMemAddressReserve(long bytes) {
    return NativeCall.create(
        "cuMemAddressReserve",
        ObjectKind.ADDRESS_RANGE,
        address -> (int) ADDRESS_RESERVE.invokeExact(address, bytes, 0L, 0L, 0L));
  }

  static void cuMemAddressFree(long address, long bytes) {
    release(
        "cuMemAddressFree",
        ObjectKind.ADDRESS_RANGE,
        () -> (int) ADDRESS_FREE.invokeExact(address, bytes));
  }

  /**
   * Allocates memory of a device, without addresses.
   *
   * @param exportable whether other processes can import it
   */
  static long cuMemCreate(int device, long bytes, boolean exportable) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment properties =
          properties(
              device,
              exportable ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE,
              arena);
      return NativeCall.create(
          "cuMemCreate",
          ObjectKind.PHYSICAL_MEMORY,
          handle -> (int) CREATE.invokeExact(handle, bytes, properties, 0L));
    }
  }

  /** Releases memory; it stays allocated while it is mapped. */
  static void cuMemRelease(long handle) {
    release("cuMemRelease", ObjectKind.PHYSICAL_MEMORY, () -> (int) RELEASE.invokeExact(handle));
  }

  /**
   * Returns a descriptor of memory that is valid in any process and keeps the memory; the caller
   * closes it.
   */
  static int cuMemExportToShareableHandle(long handle) {
    return (int)
        NativeCall.get(
            "cuMemExportToShareableHandle",
            descriptor ->
                (int)
                    EXPORT.invokeExact(
                        descriptor, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0L));
  }

  /** Returns the memory of a descriptor from any process; the caller keeps the descriptor. */
  static long cuMemImportFromShareableHandle(int descriptor) {
    return NativeCall.create(
        "cuMemImportFromShareableHandle",
        ObjectKind.PHYSICAL_MEMORY,
        handle ->
            (int)
                IMPORT.invokeExact(
                    handle, (long) descriptor, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  }

  /** Maps all of some memory at addresses; no device may access it yet. */
  static void cuMemMap(long address, long bytes, long handle) {
    call("cuMemMap", () -> (int) MAP.invokeExact(address, bytes, 0L, handle, 0L));
    ObjectKind.LIVE.created(ObjectKind.MAPPING);
  }

  /** Removes one mapping. */
  static void cuMemUnmap(long address, long bytes) {
    release("cuMemUnmap", ObjectKind.MAPPING, () -> (int) UNMAP.invokeExact(address, bytes));
  }

  /** Lets devices read and write the memory that is mapped at addresses. */
  static void cuMemSetAccess(long address, long bytes, Collection<Integer> devices) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment access = arena.allocate(ACCESS_BYTES * devices.size(), Integer.BYTES);
      long at = 0;
      for (int device : devices) {
        access.set(JAVA_INT, at, CU_MEM_LOCATION_TYPE_DEVICE);
        access.set(JAVA_INT, at + 4, device);
        access.set(JAVA_INT, at + 8, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
        at += ACCESS_BYTES;
      }
      long count = devices.size();
      call("cuMemSetAccess", () -> (int) SET_ACCESS.invokeExact(address, bytes, access, count));
    }
  }

  private static MemorySegment properties(int device, int handleType, Arena arena) {
    MemorySegment properties = arena.allocate(PROPERTIES_BYTES, Long.BYTES);
    properties.set(JAVA_INT, 0, CU_MEM_ALLOCATION_TYPE_PINNED);
    properties.set(JAVA_INT, 4, handleType);
    properties.set(JAVA_INT, 8, CU_MEM_LOCATION_TYPE_DEVICE);
    properties.set(JAVA_INT, 12, device);
    return properties;
  }
}
