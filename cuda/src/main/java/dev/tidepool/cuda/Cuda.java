package dev.tidepool.cuda;

import static dev.tidepool.cuda.NativeCall.call;
import static dev.tidepool.cuda.NativeCall.code;
import static dev.tidepool.cuda.NativeCall.get;
import static dev.tidepool.cuda.NativeCall.release;
import static java.lang.foreign.MemorySegment.NULL;
import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import dev.tidepool.spi.Shutdown;
import java.lang.foreign.Arena;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * The functions of the driver library by their exported names, one method for each. Handles of the
 * driver's objects and addresses on a device are {@code long}s and mean nothing outside of the
 * classes that own them. Memory of the host is passed as segments. A call keeps its segments alive
 * while it runs, but not while an asynchronous command runs.
 *
 * <p>Every function named here is in driver {@value #OLDEST_DRIVER_NAME}, the oldest that is
 * supported, except {@code cuFuncGetParamInfo}, whose presence is checked before it is called. That
 * driver's branch, 470, is the first with stream-ordered memory pools on all systems and the last
 * one for cards of 2012. Older names ({@code cuMemAdvise}, {@code cuMemPrefetchAsync}) are used
 * although newer drivers have newer ones, because they export both.
 *
 * <p>Only {@link NativeCall} checks return codes. Every method may be called from any thread; all
 * but those on devices need a current context, which {@link Context} provides. Once the virtual
 * machine begins to shut down, no method calls the driver: releases do nothing, and all others
 * throw {@link IllegalStateException}.
 */
final class Cuda {
  static final int OLDEST_DRIVER = 11_040;
  static final String OLDEST_DRIVER_NAME = "11.4";

  static final int CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1;
  static final int CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X = 2;
  static final int CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5;
  static final int CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8;
  static final int CU_DEVICE_ATTRIBUTE_COMPUTE_MODE = 20;
  static final int CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75;
  static final int CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76;
  static final int CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY = 83;
  static final int CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS = 89;
  static final int CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97;
  static final int CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 102;
  static final int CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED = 103;
  static final int CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115;
  static final int CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID = 134;
  static final int CU_COMPUTEMODE_PROHIBITED = 2;
  static final int CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0;
  static final int CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1;
  static final int CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8;
  static final int CU_MEM_ADVISE_SET_READ_MOSTLY = 1;
  static final int CU_MEM_ADVISE_SET_PREFERRED_LOCATION = 3;
  static final int CU_MEM_ADVISE_SET_ACCESSED_BY = 5;
  static final int CU_DEVICE_CPU = -1;
  static final int CU_MEM_ATTACH_GLOBAL = 1;
  static final int CU_MEM_ATTACH_HOST = 2;

  private static final int CU_STREAM_NON_BLOCKING = 1;
  private static final int CU_EVENT_BLOCKING_SYNC = 1;
  private static final int CU_EVENT_DISABLE_TIMING = 2;
  private static final int CU_MEMHOSTALLOC_PORTABLE = 1;
  private static final int CU_MEMHOSTALLOC_WRITECOMBINED = 4;
  private static final int CU_MEMHOSTREGISTER_PORTABLE = 1;
  private static final int CU_MEM_ALLOCATION_TYPE_PINNED = 1;
  private static final int CU_MEM_LOCATION_TYPE_DEVICE = 1;
  private static final int CU_MEM_ACCESS_FLAGS_PROT_NONE = 0;
  private static final int CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3;
  private static final int CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES = 3;
  private static final int CU_MEMPOOL_ATTR_RELEASE_THRESHOLD = 4;
  private static final int CU_JIT_ERROR_LOG_BUFFER = 5;
  private static final int CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6;
  // sizeof(CUmemPoolProps), with the reserved part.
  private static final long POOL_PROPERTIES_BYTES = 88;
  private static final int LOG_BYTES = 16 << 10;

  // The driver's types. CUdevice, enumerations and counts of launches are 32 bits wide.
  private static final ValueLayout.OfInt INT = JAVA_INT;
  private static final ValueLayout.OfLong HANDLE = JAVA_LONG;
  private static final ValueLayout.OfLong DEVICE_POINTER = JAVA_LONG;
  private static final ValueLayout.OfLong SIZE = JAVA_LONG;
  private static final MemoryLayout POINTER = ADDRESS;

  private static final MethodHandle INIT = Installed.DRIVER.code("cuInit", INT);
  private static final MethodHandle DRIVER_GET_VERSION =
      Installed.DRIVER.code("cuDriverGetVersion", POINTER);
  private static final MethodHandle GET_ERROR_NAME =
      Installed.DRIVER.code("cuGetErrorName", INT, POINTER);
  private static final MethodHandle GET_ERROR_STRING =
      Installed.DRIVER.code("cuGetErrorString", INT, POINTER);
  private static final MethodHandle DEVICE_GET_COUNT =
      Installed.DRIVER.code("cuDeviceGetCount", POINTER);
  private static final MethodHandle DEVICE_GET = Installed.DRIVER.code("cuDeviceGet", POINTER, INT);
  private static final MethodHandle DEVICE_GET_NAME =
      Installed.DRIVER.code("cuDeviceGetName", POINTER, INT, INT);
  private static final MethodHandle DEVICE_GET_UUID =
      Installed.DRIVER.code("cuDeviceGetUuid_v2", POINTER, INT);
  private static final MethodHandle DEVICE_TOTAL_MEM =
      Installed.DRIVER.code("cuDeviceTotalMem_v2", POINTER, INT);
  private static final MethodHandle DEVICE_GET_ATTRIBUTE =
      Installed.DRIVER.code("cuDeviceGetAttribute", POINTER, INT, INT);
  private static final MethodHandle DEVICE_CAN_ACCESS_PEER =
      Installed.DRIVER.code("cuDeviceCanAccessPeer", POINTER, INT, INT);
  private static final MethodHandle PRIMARY_CTX_RETAIN =
      Installed.DRIVER.code("cuDevicePrimaryCtxRetain", POINTER, INT);
  private static final MethodHandle PRIMARY_CTX_RELEASE =
      Installed.DRIVER.code("cuDevicePrimaryCtxRelease_v2", INT);
  private static final MethodHandle CTX_PUSH_CURRENT =
      Installed.DRIVER.code("cuCtxPushCurrent_v2", HANDLE);
  private static final MethodHandle CTX_POP_CURRENT =
      Installed.DRIVER.code("cuCtxPopCurrent_v2", POINTER);
  private static final MethodHandle CTX_GET_DEVICE =
      Installed.DRIVER.code("cuCtxGetDevice", POINTER);
  private static final MethodHandle CTX_GET_STREAM_PRIORITY_RANGE =
      Installed.DRIVER.code("cuCtxGetStreamPriorityRange", POINTER, POINTER);
  private static final MethodHandle CTX_ENABLE_PEER_ACCESS =
      Installed.DRIVER.code("cuCtxEnablePeerAccess", HANDLE, INT);
  private static final MethodHandle CTX_DISABLE_PEER_ACCESS =
      Installed.DRIVER.code("cuCtxDisablePeerAccess", HANDLE);
  private static final MethodHandle POINTER_GET_ATTRIBUTE =
      Installed.DRIVER.code("cuPointerGetAttribute", POINTER, INT, HANDLE);
  private static final MethodHandle MEM_GET_INFO =
      Installed.DRIVER.code("cuMemGetInfo_v2", POINTER, POINTER);
  private static final MethodHandle MEM_ALLOC =
      Installed.DRIVER.code("cuMemAlloc_v2", POINTER, SIZE);
  private static final MethodHandle MEM_FREE =
      Installed.DRIVER.code("cuMemFree_v2", DEVICE_POINTER);
  private static final MethodHandle MEM_POOL_CREATE =
      Installed.DRIVER.code("cuMemPoolCreate", POINTER, POINTER);
  private static final MethodHandle MEM_POOL_DESTROY =
      Installed.DRIVER.code("cuMemPoolDestroy", HANDLE);
  private static final MethodHandle DEVICE_GET_MEM_POOL =
      Installed.DRIVER.code("cuDeviceGetMemPool", POINTER, INT);
  private static final MethodHandle MEM_POOL_SET_ATTRIBUTE =
      Installed.DRIVER.code("cuMemPoolSetAttribute", HANDLE, INT, POINTER);
  private static final MethodHandle MEM_POOL_SET_ACCESS =
      Installed.DRIVER.code("cuMemPoolSetAccess", HANDLE, POINTER, SIZE);
  private static final MethodHandle MEM_ALLOC_FROM_POOL_ASYNC =
      Installed.DRIVER.code("cuMemAllocFromPoolAsync", POINTER, SIZE, HANDLE, HANDLE);
  private static final MethodHandle MEM_FREE_ASYNC =
      Installed.DRIVER.code("cuMemFreeAsync", DEVICE_POINTER, HANDLE);
  private static final MethodHandle MEM_HOST_ALLOC =
      Installed.DRIVER.code("cuMemHostAlloc", POINTER, SIZE, INT);
  private static final MethodHandle MEM_FREE_HOST =
      Installed.DRIVER.code("cuMemFreeHost", DEVICE_POINTER);
  private static final MethodHandle MEM_HOST_REGISTER =
      Installed.DRIVER.code("cuMemHostRegister_v2", POINTER, SIZE, INT);
  private static final MethodHandle MEM_HOST_UNREGISTER =
      Installed.DRIVER.code("cuMemHostUnregister", DEVICE_POINTER);
  private static final MethodHandle MEM_ALLOC_MANAGED =
      Installed.DRIVER.code("cuMemAllocManaged", POINTER, SIZE, INT);
  private static final MethodHandle MEM_ADVISE =
      Installed.DRIVER.code("cuMemAdvise", DEVICE_POINTER, SIZE, INT, INT);
  private static final MethodHandle MEM_PREFETCH_ASYNC =
      Installed.DRIVER.code("cuMemPrefetchAsync", DEVICE_POINTER, SIZE, INT, HANDLE);
  private static final MethodHandle MEMCPY_HTOD =
      Installed.DRIVER.code("cuMemcpyHtoDAsync_v2", DEVICE_POINTER, POINTER, SIZE, HANDLE);
  private static final MethodHandle MEMCPY_DTOH =
      Installed.DRIVER.code("cuMemcpyDtoHAsync_v2", POINTER, DEVICE_POINTER, SIZE, HANDLE);
  private static final MethodHandle MEMCPY_DTOD =
      Installed.DRIVER.code("cuMemcpyDtoDAsync_v2", DEVICE_POINTER, DEVICE_POINTER, SIZE, HANDLE);
  private static final MethodHandle MEMCPY_PEER =
      Installed.DRIVER.code(
          "cuMemcpyPeerAsync", DEVICE_POINTER, HANDLE, DEVICE_POINTER, HANDLE, SIZE, HANDLE);
  private static final MethodHandle MEMSET_D8 =
      Installed.DRIVER.code("cuMemsetD8Async", DEVICE_POINTER, JAVA_BYTE, SIZE, HANDLE);
  private static final MethodHandle MEMSET_D16 =
      Installed.DRIVER.code("cuMemsetD16Async", DEVICE_POINTER, JAVA_SHORT, SIZE, HANDLE);
  private static final MethodHandle MEMSET_D32 =
      Installed.DRIVER.code("cuMemsetD32Async", DEVICE_POINTER, INT, SIZE, HANDLE);
  private static final MethodHandle STREAM_CREATE =
      Installed.DRIVER.code("cuStreamCreateWithPriority", POINTER, INT, INT);
  private static final MethodHandle STREAM_DESTROY =
      Installed.DRIVER.code("cuStreamDestroy_v2", HANDLE);
  private static final MethodHandle STREAM_GET_CTX =
      Installed.DRIVER.code("cuStreamGetCtx", HANDLE, POINTER);
  private static final MethodHandle STREAM_SYNCHRONIZE =
      Installed.DRIVER.code("cuStreamSynchronize", HANDLE);
  private static final MethodHandle STREAM_WAIT_EVENT =
      Installed.DRIVER.code("cuStreamWaitEvent", HANDLE, HANDLE, INT);
  private static final MethodHandle STREAM_ATTACH_MEM =
      Installed.DRIVER.code("cuStreamAttachMemAsync", HANDLE, DEVICE_POINTER, SIZE, INT);
  private static final MethodHandle EVENT_CREATE =
      Installed.DRIVER.code("cuEventCreate", POINTER, INT);
  private static final MethodHandle EVENT_RECORD =
      Installed.DRIVER.code("cuEventRecord", HANDLE, HANDLE);
  private static final MethodHandle EVENT_QUERY = Installed.DRIVER.code("cuEventQuery", HANDLE);
  private static final MethodHandle EVENT_SYNCHRONIZE =
      Installed.DRIVER.code("cuEventSynchronize", HANDLE);
  private static final MethodHandle EVENT_DESTROY =
      Installed.DRIVER.code("cuEventDestroy_v2", HANDLE);
  private static final MethodHandle MODULE_LOAD_DATA =
      Installed.DRIVER.code("cuModuleLoadDataEx", POINTER, POINTER, INT, POINTER, POINTER);
  private static final MethodHandle MODULE_UNLOAD = Installed.DRIVER.code("cuModuleUnload", HANDLE);
  private static final MethodHandle MODULE_GET_FUNCTION =
      Installed.DRIVER.code("cuModuleGetFunction", POINTER, HANDLE, POINTER);
  private static final MethodHandle FUNC_GET_ATTRIBUTE =
      Installed.DRIVER.code("cuFuncGetAttribute", POINTER, INT, HANDLE);
  private static final MethodHandle FUNC_SET_ATTRIBUTE =
      Installed.DRIVER.code("cuFuncSetAttribute", HANDLE, INT, INT);
  // Since 12.4.
  private static final MethodHandle FUNC_GET_PARAM_INFO =
      Installed.DRIVER.code("cuFuncGetParamInfo", HANDLE, SIZE, POINTER, POINTER);
  private static final MethodHandle LAUNCH_KERNEL =
      Installed.DRIVER.code(
          "cuLaunchKernel", HANDLE, INT, INT, INT, INT, INT, INT, INT, HANDLE, POINTER, POINTER);

  private Cuda() {}

  // The driver and its devices.

  static void cuInit() {
    call("cuInit", () -> (int) INIT.invokeExact(0));
  }

  /** Returns 1000 for each major version and 10 for each minor one: 12040 is 12.4. */
  static int cuDriverGetVersion() {
    return (int)
        get("cuDriverGetVersion", version -> (int) DRIVER_GET_VERSION.invokeExact(version));
  }

  static Optional<String> cuGetErrorName(int error) {
    return text(name -> (int) GET_ERROR_NAME.invokeExact(error, name));
  }

  static Optional<String> cuGetErrorString(int error) {
    return text(text -> (int) GET_ERROR_STRING.invokeExact(error, text));
  }

  private static Optional<String> text(NativeCall.Output function) {
    if (!Installed.DRIVER.isPresent() || Shutdown.hasBegun()) {
      return Optional.empty();
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment pointer = arena.allocate(ADDRESS);
      int code = code("cuGetErrorName", () -> function.invoke(pointer));
      MemorySegment text = pointer.get(ADDRESS, 0);
      return code != ErrorCodes.CUDA_SUCCESS || text.equals(NULL)
          ? Optional.empty()
          : Optional.of(text.reinterpret(1024).getString(0));
    }
  }

  static int cuDeviceGetCount() {
    return (int) get("cuDeviceGetCount", count -> (int) DEVICE_GET_COUNT.invokeExact(count));
  }

  static int cuDeviceGet(int ordinal) {
    return (int) get("cuDeviceGet", device -> (int) DEVICE_GET.invokeExact(device, ordinal));
  }

  static String cuDeviceGetName(int device) {
    int room = 256;
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment name = arena.allocate(room);
      call("cuDeviceGetName", () -> (int) DEVICE_GET_NAME.invokeExact(name, room, device));
      return name.getString(0);
    }
  }

  /**
   * Returns an id that distinguishes the device, or this process's part of one, from all others.
   */
  static String cuDeviceGetUuid(int device) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment uuid = arena.allocate(16);
      call("cuDeviceGetUuid_v2", () -> (int) DEVICE_GET_UUID.invokeExact(uuid, device));
      return HexFormat.of().formatHex(uuid.toArray(JAVA_BYTE));
    }
  }

  static long cuDeviceTotalMem(int device) {
    return get("cuDeviceTotalMem_v2", bytes -> (int) DEVICE_TOTAL_MEM.invokeExact(bytes, device));
  }

  static int cuDeviceGetAttribute(int device, int attribute) {
    return (int)
        get(
            "cuDeviceGetAttribute",
            value -> (int) DEVICE_GET_ATTRIBUTE.invokeExact(value, attribute, device));
  }

  /** Returns whether kernels and copies of a device can access the memory of another directly. */
  static boolean cuDeviceCanAccessPeer(int device, int peer) {
    return (int)
            get(
                "cuDeviceCanAccessPeer",
                can -> (int) DEVICE_CAN_ACCESS_PEER.invokeExact(can, device, peer))
        != 0;
  }

  // Contexts.

  static long cuDevicePrimaryCtxRetain(int device) {
    return NativeCall.create(
        "cuDevicePrimaryCtxRetain",
        ObjectKind.CONTEXT,
        context -> (int) PRIMARY_CTX_RETAIN.invokeExact(context, device));
  }

  static void cuDevicePrimaryCtxRelease(int device) {
    release(
        "cuDevicePrimaryCtxRelease_v2",
        ObjectKind.CONTEXT,
        () -> (int) PRIMARY_CTX_RELEASE.invokeExact(device));
  }

  static void cuCtxPushCurrent(long context) {
    call("cuCtxPushCurrent_v2", () -> (int) CTX_PUSH_CURRENT.invokeExact(context));
  }

  /** Returns the code: a context must be popped whatever the calls in between did. */
  static int cuCtxPopCurrent() {
    if (Shutdown.hasBegun()) {
      // The driver is shutting down; the caller gets the outcome of its own calls.
      return ErrorCodes.CUDA_SUCCESS;
    }
    return code("cuCtxPopCurrent_v2", () -> (int) CTX_POP_CURRENT.invokeExact(NULL));
  }

  /** Returns the device of the current context. */
  static int cuCtxGetDevice() {
    return (int) get("cuCtxGetDevice", device -> (int) CTX_GET_DEVICE.invokeExact(device));
  }

  /** Returns the priorities of streams, the lowest first; lower numbers mean higher priority. */
  static int[] cuCtxGetStreamPriorityRange() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment range = arena.allocate(JAVA_INT, 2);
      call(
          "cuCtxGetStreamPriorityRange",
          () ->
              (int)
                  CTX_GET_STREAM_PRIORITY_RANGE.invokeExact(
                      range, range.asSlice(JAVA_INT.byteSize())));
      return range.toArray(JAVA_INT);
    }
  }

  /**
   * Lets the current context access the memory of another; it is no error if it already can.
   *
   * @return whether this call enabled the access
   */
  static boolean cuCtxEnablePeerAccess(long peer) {
    int code =
        code("cuCtxEnablePeerAccess", () -> (int) CTX_ENABLE_PEER_ACCESS.invokeExact(peer, 0));
    if (code == ErrorCodes.CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) {
      return false;
    }
    NativeCall.check("cuCtxEnablePeerAccess", code);
    return true;
  }

  /** Undoes {@link #cuCtxEnablePeerAccess}. */
  static void cuCtxDisablePeerAccess(long peer) {
    call("cuCtxDisablePeerAccess", () -> (int) CTX_DISABLE_PEER_ACCESS.invokeExact(peer));
  }

  // Memory.

  /** Returns the free and the total bytes of the current context's device. */
  static long[] cuMemGetInfo() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment info = arena.allocate(JAVA_LONG, 2);
      call(
          "cuMemGetInfo_v2",
          () -> (int) MEM_GET_INFO.invokeExact(info, info.asSlice(JAVA_LONG.byteSize())));
      return info.toArray(JAVA_LONG);
    }
  }

  /** Returns an attribute of the memory at an address; an answer of 32 bits is extended. */
  static long cuPointerGetAttribute(int attribute, long address) {
    return get(
        "cuPointerGetAttribute",
        value -> (int) POINTER_GET_ATTRIBUTE.invokeExact(value, attribute, address));
  }

  static long cuMemAlloc(long bytes) {
    return NativeCall.create(
        "cuMemAlloc_v2",
        ObjectKind.DEVICE_MEMORY,
        address -> (int) MEM_ALLOC.invokeExact(address, bytes));
  }

  static void cuMemFree(long address, ObjectKind kind) {
    release("cuMemFree_v2", kind, () -> (int) MEM_FREE.invokeExact(address));
  }

  /** Creates a pool of a device's memory that other processes cannot share. */
  static long cuMemPoolCreate(int device) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment properties = arena.allocate(POOL_PROPERTIES_BYTES, Long.BYTES);
      properties.set(JAVA_INT, 0, CU_MEM_ALLOCATION_TYPE_PINNED);
      properties.set(JAVA_INT, 8, CU_MEM_LOCATION_TYPE_DEVICE);
      properties.set(JAVA_INT, 12, device);
      return NativeCall.create(
          "cuMemPoolCreate",
          ObjectKind.MEMORY_POOL,
          pool -> (int) MEM_POOL_CREATE.invokeExact(pool, properties));
    }
  }

  static void cuMemPoolDestroy(long pool) {
    release(
        "cuMemPoolDestroy", ObjectKind.MEMORY_POOL, () -> (int) MEM_POOL_DESTROY.invokeExact(pool));
  }

  /** Returns the pool of a device that libraries share; it must not be destroyed. */
  static long cuDeviceGetMemPool(int device) {
    return get("cuDeviceGetMemPool", pool -> (int) DEVICE_GET_MEM_POOL.invokeExact(pool, device));
  }

  /** Sets how many freed bytes a pool keeps when the host waits for the device. */
  static void cuMemPoolSetReleaseThreshold(long pool, long bytes) {
    try (Arena arena = Arena.ofConfined()) {
      setAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, arena.allocateFrom(JAVA_LONG, bytes));
    }
  }

  /**
   * Prevents a pool from giving a stream memory that another stream still uses, with a wait in
   * between: an allocation would take as long as a kernel.
   */
  static void cuMemPoolForbidWaits(long pool) {
    try (Arena arena = Arena.ofConfined()) {
      setAttribute(
          pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, arena.allocateFrom(JAVA_INT, 0));
    }
  }

  private static void setAttribute(long pool, int attribute, MemorySegment value) {
    call(
        "cuMemPoolSetAttribute",
        () -> (int) MEM_POOL_SET_ATTRIBUTE.invokeExact(pool, attribute, value));
  }

  /** Lets another device access all memory of a pool, or none of it. */
  static void cuMemPoolSetAccess(long pool, int peer, boolean reachable) {
    int flags = reachable ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment access = arena.allocateFrom(JAVA_INT, CU_MEM_LOCATION_TYPE_DEVICE, peer, flags);
      call("cuMemPoolSetAccess", () -> (int) MEM_POOL_SET_ACCESS.invokeExact(pool, access, 1L));
    }
  }

  static long cuMemAllocFromPoolAsync(long bytes, long pool, long stream) {
    return NativeCall.create(
        "cuMemAllocFromPoolAsync",
        ObjectKind.DEVICE_MEMORY,
        address -> (int) MEM_ALLOC_FROM_POOL_ASYNC.invokeExact(address, bytes, pool, stream));
  }

  static void cuMemFreeAsync(long address, long stream) {
    release(
        "cuMemFreeAsync",
        ObjectKind.DEVICE_MEMORY,
        () -> (int) MEM_FREE_ASYNC.invokeExact(address, stream));
  }

  /** Allocates page-locked memory that all contexts recognize as such. */
  static long cuMemHostAlloc(long bytes, boolean writeCombined) {
    int flags = CU_MEMHOSTALLOC_PORTABLE | (writeCombined ? CU_MEMHOSTALLOC_WRITECOMBINED : 0);
    return NativeCall.create(
        "cuMemHostAlloc",
        ObjectKind.PINNED_MEMORY,
        address -> (int) MEM_HOST_ALLOC.invokeExact(address, bytes, flags));
  }

  static void cuMemFreeHost(long address) {
    release(
        "cuMemFreeHost", ObjectKind.PINNED_MEMORY, () -> (int) MEM_FREE_HOST.invokeExact(address));
  }

  /** Page-locks memory of the host in place, for all contexts. */
  static void cuMemHostRegister(MemorySegment memory) {
    call(
        "cuMemHostRegister_v2",
        () ->
            (int)
                MEM_HOST_REGISTER.invokeExact(
                    memory, memory.byteSize(), CU_MEMHOSTREGISTER_PORTABLE));
    ObjectKind.LIVE.created(ObjectKind.REGISTERED_MEMORY);
  }

  static void cuMemHostUnregister(long address) {
    release(
        "cuMemHostUnregister",
        ObjectKind.REGISTERED_MEMORY,
        () -> (int) MEM_HOST_UNREGISTER.invokeExact(address));
  }

  static long cuMemAllocManaged(long bytes) {
    return NativeCall.create(
        "cuMemAllocManaged",
        ObjectKind.MANAGED_MEMORY,
        address -> (int) MEM_ALLOC_MANAGED.invokeExact(address, bytes, CU_MEM_ATTACH_GLOBAL));
  }

  static void cuMemAdvise(long address, long bytes, int advice, int device) {
    call("cuMemAdvise", () -> (int) MEM_ADVISE.invokeExact(address, bytes, advice, device));
  }

  static void cuMemPrefetchAsync(long address, long bytes, int device, long stream) {
    call(
        "cuMemPrefetchAsync",
        () -> (int) MEM_PREFETCH_ASYNC.invokeExact(address, bytes, device, stream));
  }

  /** Sets which stream may access a whole block of managed memory from then on. */
  static void cuStreamAttachMemAsync(long stream, long address, int flags) {
    call(
        "cuStreamAttachMemAsync",
        () -> (int) STREAM_ATTACH_MEM.invokeExact(stream, address, 0L, flags));
  }

  // Commands.

  static void cuMemcpyHtoDAsync(long destination, MemorySegment source, long stream) {
    call(
        "cuMemcpyHtoDAsync_v2",
        () -> (int) MEMCPY_HTOD.invokeExact(destination, source, source.byteSize(), stream));
  }

  static void cuMemcpyDtoHAsync(MemorySegment destination, long source, long stream) {
    call(
        "cuMemcpyDtoHAsync_v2",
        () -> (int) MEMCPY_DTOH.invokeExact(destination, source, destination.byteSize(), stream));
  }

  static void cuMemcpyDtoDAsync(long destination, long source, long bytes, long stream) {
    call(
        "cuMemcpyDtoDAsync_v2",
        () -> (int) MEMCPY_DTOD.invokeExact(destination, source, bytes, stream));
  }

  static void cuMemcpyPeerAsync(
      long destination, long context, long source, long sourceContext, long bytes, long stream) {
    call(
        "cuMemcpyPeerAsync",
        () ->
            (int)
                MEMCPY_PEER.invokeExact(
                    destination, context, source, sourceContext, bytes, stream));
  }

  static void cuMemsetD8Async(long address, byte value, long bytes, long stream) {
    call("cuMemsetD8Async", () -> (int) MEMSET_D8.invokeExact(address, value, bytes, stream));
  }

  /** Sets 16-bit words at an address that is a multiple of their size. */
  static void cuMemsetD16Async(long address, short value, long words, long stream) {
    call("cuMemsetD16Async", () -> (int) MEMSET_D16.invokeExact(address, value, words, stream));
  }

  /** Sets 32-bit words. */
  static void cuMemsetD32Async(long address, int value, long words, long stream) {
    call("cuMemsetD32Async", () -> (int) MEMSET_D32.invokeExact(address, value, words, stream));
  }

  // Streams and events.

  static long cuStreamCreateWithPriority(int priority) {
    return NativeCall.create(
        "cuStreamCreateWithPriority",
        ObjectKind.STREAM,
        stream -> (int) STREAM_CREATE.invokeExact(stream, CU_STREAM_NON_BLOCKING, priority));
  }

  static void cuStreamDestroy(long stream) {
    release(
        "cuStreamDestroy_v2", ObjectKind.STREAM, () -> (int) STREAM_DESTROY.invokeExact(stream));
  }

  /** Returns the context that a stream belongs to. */
  static long cuStreamGetCtx(long stream) {
    return get("cuStreamGetCtx", context -> (int) STREAM_GET_CTX.invokeExact(stream, context));
  }

  static void cuStreamSynchronize(long stream) {
    call("cuStreamSynchronize", () -> (int) STREAM_SYNCHRONIZE.invokeExact(stream));
  }

  static void cuStreamWaitEvent(long stream, long event) {
    call("cuStreamWaitEvent", () -> (int) STREAM_WAIT_EVENT.invokeExact(stream, event, 0));
  }

  /** Creates an event without a time stamp; a thread that waits for it sleeps. */
  static long cuEventCreate() {
    int flags = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING;
    return NativeCall.create(
        "cuEventCreate", ObjectKind.EVENT, event -> (int) EVENT_CREATE.invokeExact(event, flags));
  }

  static void cuEventRecord(long event, long stream) {
    call("cuEventRecord", () -> (int) EVENT_RECORD.invokeExact(event, stream));
  }

  /** Returns {@code CUDA_SUCCESS}, {@code CUDA_ERROR_NOT_READY}, or the failure of a command. */
  static int cuEventQuery(long event) {
    return code("cuEventQuery", () -> (int) EVENT_QUERY.invokeExact(event));
  }

  /**
   * Blocks until the commands before the event have ended; returns a code like {@link
   * #cuEventQuery}.
   */
  static int cuEventSynchronize(long event) {
    return code("cuEventSynchronize", () -> (int) EVENT_SYNCHRONIZE.invokeExact(event));
  }

  static void cuEventDestroy(long event) {
    release("cuEventDestroy_v2", ObjectKind.EVENT, () -> (int) EVENT_DESTROY.invokeExact(event));
  }

  // Code.

  /**
   * The result of loading code.
   *
   * @param code the return code
   * @param module its handle if the code is {@code CUDA_SUCCESS}
   * @param log the messages of the driver's compiler about PTX
   */
  record Loaded(int code, long module, String log) {}

  /** Loads a cubin, a fat binary or PTX; returns the code, because a failure has a log. */
  static Loaded cuModuleLoadDataEx(byte[] image) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment module = arena.allocate(JAVA_LONG);
      // PTX is text that ends with a zero.
      MemorySegment bytes = arena.allocate(image.length + 1L, 16);
      bytes.copyFrom(MemorySegment.ofArray(image));
      MemorySegment log = arena.allocate(LOG_BYTES);
      MemorySegment options =
          arena.allocateFrom(JAVA_INT, CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
      MemorySegment values = arena.allocate(ADDRESS, 2);
      values.setAtIndex(ADDRESS, 0, log);
      values.setAtIndex(ADDRESS, 1, MemorySegment.ofAddress(LOG_BYTES));
      int code =
          code(
              "cuModuleLoadDataEx",
              () -> (int) MODULE_LOAD_DATA.invokeExact(module, bytes, 2, options, values));
      if (code == ErrorCodes.CUDA_SUCCESS) {
        ObjectKind.LIVE.created(ObjectKind.MODULE);
      }
      return new Loaded(code, module.get(JAVA_LONG, 0), log.getString(0));
    }
  }

  static void cuModuleUnload(long module) {
    release("cuModuleUnload", ObjectKind.MODULE, () -> (int) MODULE_UNLOAD.invokeExact(module));
  }

  static long cuModuleGetFunction(long module, String name) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment text = arena.allocateFrom(name, StandardCharsets.UTF_8);
      return get(
          "cuModuleGetFunction",
          function -> (int) MODULE_GET_FUNCTION.invokeExact(function, module, text));
    }
  }

  static int cuFuncGetAttribute(long function, int attribute) {
    return (int)
        get(
            "cuFuncGetAttribute",
            value -> (int) FUNC_GET_ATTRIBUTE.invokeExact(value, attribute, function));
  }

  /** Returns whether the driver reports the parameters of a function. */
  static boolean hasCuFuncGetParamInfo() {
    return Installed.DRIVER.has("cuFuncGetParamInfo");
  }

  /** Returns the bytes of a function's parameter; empty if there is no such parameter. */
  static OptionalLong cuFuncGetParamInfo(long function, long index) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment offset = arena.allocate(JAVA_LONG);
      MemorySegment size = arena.allocate(JAVA_LONG);
      int code =
          code(
              "cuFuncGetParamInfo",
              () -> (int) FUNC_GET_PARAM_INFO.invokeExact(function, index, offset, size));
      if (code == ErrorCodes.CUDA_ERROR_INVALID_VALUE) {
        return OptionalLong.empty();
      }
      NativeCall.check("cuFuncGetParamInfo", code);
      return OptionalLong.of(size.get(JAVA_LONG, 0));
    }
  }

  static void cuFuncSetAttribute(long function, int attribute, int value) {
    call(
        "cuFuncSetAttribute",
        () -> (int) FUNC_SET_ATTRIBUTE.invokeExact(function, attribute, value));
  }

  /**
   * Runs a kernel.
   *
   * @param grid blocks in each of three dimensions
   * @param block threads of a block in each
   * @param sharedBytes dynamic shared memory of a block
   * @param parameters pointers to the values
   */
  static void cuLaunchKernel(
      long function,
      long[] grid,
      long[] block,
      int sharedBytes,
      long stream,
      MemorySegment parameters) {
    call(
        "cuLaunchKernel",
        () ->
            (int)
                LAUNCH_KERNEL.invokeExact(
                    function,
                    (int) grid[0],
                    (int) grid[1],
                    (int) grid[2],
                    (int) block[0],
                    (int) block[1],
                    (int) block[2],
                    sharedBytes,
                    stream,
                    parameters,
                    NULL));
  }
}
