package dev.tidepool.testkit.metal;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** Memory that is gone from the address space when it is closed. */
final class Mapping implements AutoCloseable {
  private static final int READ_AND_WRITE = 3;
  private static final int PRIVATE_ANONYMOUS = 0x22;

  private static final MethodHandle MMAP =
      handle(
          "mmap",
          FunctionDescriptor.of(
              JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG));
  private static final MethodHandle MUNMAP =
      handle("munmap", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));

  private final long alignment;
  private final long start;

  /** One block of that size, at a multiple of it. */
  Mapping(long size) {
    alignment = size;
    try {
      start =
          (long)
              MMAP.invokeWithArguments(
                  MemorySegment.NULL, 2 * size, READ_AND_WRITE, PRIVATE_ANONYMOUS, -1, 0L);
    } catch (Throwable thrown) {
      throw new AssertionError(thrown);
    }
  }

  private static MethodHandle handle(String name, FunctionDescriptor descriptor) {
    Linker linker = Linker.nativeLinker();
    return linker.downcallHandle(linker.defaultLookup().findOrThrow(name), descriptor);
  }

  long address() {
    return (start + alignment - 1) / alignment * alignment;
  }

  @Override
  public void close() {
    try {
      if ((int) MUNMAP.invokeWithArguments(start, 2 * alignment) != 0) {
        throw new AssertionError("munmap");
      }
    } catch (Throwable thrown) {
      throw new AssertionError(thrown);
    }
  }
}
