package dev.tidepool.interop;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.host.HostMemory;
import dev.tidepool.host.system.LibC;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * The heap of the C library, for small structures that one thread allocates and another frees. An
 * arena for each would cost a hundred times as much.
 */
final class NativeHeap {
  private static final MethodHandle CALLOC =
      LibC.link(
          "calloc",
          FunctionDescriptor.of(ADDRESS, JAVA_LONG, JAVA_LONG),
          Linker.Option.critical(false));
  private static final MethodHandle FREE =
      LibC.link("free", FunctionDescriptor.ofVoid(ADDRESS), Linker.Option.critical(false));

  private NativeHeap() {}

  /** Allocates zeroed memory, aligned for any C structure. */
  static MemorySegment allocate(long bytes) {
    MemorySegment block;
    try {
      block = (MemorySegment) CALLOC.invokeExact(1L, bytes);
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
    if (block.address() == 0) {
      throw new OutOfDeviceMemoryException(
          "the C library has no room for a structure of " + bytes + " bytes",
          bytes,
          HostMemory.now().freeBytes(),
          HostMemory.now().totalBytes(),
          -1);
    }
    return block.reinterpret(bytes);
  }

  static void free(MemorySegment block) {
    try {
      FREE.invokeExact(block);
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
  }
}
