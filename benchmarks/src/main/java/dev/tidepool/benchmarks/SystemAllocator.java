package dev.tidepool.benchmarks;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * Direct calls of the C library: one plain downcall each, and no layer between the caller and the
 * system. For Linux only.
 */
final class SystemAllocator {
  private static final MethodHandle MALLOC = function("malloc", ADDRESS, JAVA_LONG);
  private static final MethodHandle FREE =
      Linker.nativeLinker()
          .downcallHandle(
              Linker.nativeLinker().defaultLookup().findOrThrow("free"),
              FunctionDescriptor.ofVoid(ADDRESS));
  private static final MethodHandle MAP =
      function("mmap", ADDRESS, ADDRESS, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG);
  private static final MethodHandle UNMAP = function("munmap", JAVA_INT, ADDRESS, JAVA_LONG);
  private static final MethodHandle ADVISE =
      function("madvise", JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT);

  private static final int READ_WRITE = 3;
  private static final int PRIVATE_ANONYMOUS = 0x22;
  private static final int HUGE_PAGES = 14;

  private SystemAllocator() {}

  static MemorySegment malloc(long bytes) {
    try {
      return ((MemorySegment) MALLOC.invokeExact(bytes)).reinterpret(bytes);
    } catch (Throwable e) {
      throw new IllegalStateException(e);
    }
  }

  static void free(MemorySegment block) {
    try {
      FREE.invokeExact(block);
    } catch (Throwable e) {
      throw new IllegalStateException(e);
    }
  }

  /** Maps new memory, and requests huge pages for the whole ones that fit. */
  static MemorySegment mapHuge(long bytes) {
    try {
      MemorySegment memory =
          (MemorySegment)
              MAP.invokeExact(MemorySegment.NULL, bytes, READ_WRITE, PRIVATE_ANONYMOUS, -1, 0L);
      check((int) ADVISE.invokeExact(memory, bytes, HUGE_PAGES));
      return memory.reinterpret(bytes);
    } catch (Throwable e) {
      throw new IllegalStateException(e);
    }
  }

  /** Unmaps memory of {@link #mapHuge}. */
  static void unmap(MemorySegment memory) {
    try {
      check((int) UNMAP.invokeExact(memory, memory.byteSize()));
    } catch (Throwable e) {
      throw new IllegalStateException(e);
    }
  }

  private static void check(int code) {
    if (code != 0) {
      throw new IllegalStateException("the system answered " + code);
    }
  }

  private static MethodHandle function(
      String name, MemoryLayout result, MemoryLayout... parameters) {
    Linker linker = Linker.nativeLinker();
    return linker.downcallHandle(
        linker.defaultLookup().findOrThrow(name), FunctionDescriptor.of(result, parameters));
  }
}
