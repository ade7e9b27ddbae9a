package dev.tidepool.cuda;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * The driver's functions for plain memory of other processes, which a handle of bytes identifies.
 * They follow the rules of {@link Cuda}, and are separate for the reason given in {@link
 * VirtualMemoryCalls}.
 */
final class IpcCalls {
  static final int HANDLE_BYTES = 64;
  private static final int CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS = 1;

  // CUipcMemHandle, which is passed by value.
  private static final MemoryLayout HANDLE =
      MemoryLayout.structLayout(MemoryLayout.sequenceLayout(HANDLE_BYTES, JAVA_BYTE));

  private static final MethodHandle GET_HANDLE =
      Installed.DRIVER.code("cuIpcGetMemHandle", ADDRESS, JAVA_LONG);
  private static final MethodHandle OPEN_HANDLE =
      Installed.DRIVER.code("cuIpcOpenMemHandle_v2", ADDRESS, HANDLE, JAVA_INT);
  private static final MethodHandle CLOSE_HANDLE =
      Installed.DRIVER.code("cuIpcCloseMemHandle", JAVA_LONG);

  private IpcCalls() {}

  /** Returns the handle by which other processes open a whole allocation of {@code cuMemAlloc}. */
  static byte[] cuIpcGetMemHandle(long address) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment handle = arena.allocate(HANDLE);
      NativeCall.call("cuIpcGetMemHandle", () -> (int) GET_HANDLE.invokeExact(handle, address));
      return handle.toArray(JAVA_BYTE);
    }
  }

  /** Returns the address of another process's memory; fails for memory of this process. */
  static long cuIpcOpenMemHandle(byte[] handle) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment value = arena.allocate(HANDLE).copyFrom(MemorySegment.ofArray(handle));
      return NativeCall.create(
          "cuIpcOpenMemHandle_v2",
          ObjectKind.OPENED_MEMORY,
          address ->
              (int) OPEN_HANDLE.invokeExact(address, value, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    }
  }

  static void cuIpcCloseMemHandle(long address) {
    NativeCall.release(
        "cuIpcCloseMemHandle",
        ObjectKind.OPENED_MEMORY,
        () -> (int) CLOSE_HANDLE.invokeExact(address));
  }
}
