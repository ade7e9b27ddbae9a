package dev.tidepool.examples;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.tidepool.NativeHandle;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;

/** One function of CLBlast, a library of linear algebra for OpenCL, as declared in its C header. */
final class Clblast {
  private static final int ROW_MAJOR = 101;
  private static final int NOT_TRANSPOSED = 111;

  /** Sizes are {@code size_t}, memory objects pointers, and the queue a pointer to its handle. */
  private static final MethodHandle SGEMM =
      Linker.nativeLinker()
          .downcallHandle(
              SymbolLookup.libraryLookup("libclblast.so.1", Arena.global())
                  .findOrThrow("CLBlastSgemm"),
              FunctionDescriptor.of(
                  JAVA_INT,
                  JAVA_INT,
                  JAVA_INT,
                  JAVA_INT,
                  JAVA_LONG,
                  JAVA_LONG,
                  JAVA_LONG,
                  JAVA_FLOAT,
                  JAVA_LONG,
                  JAVA_LONG,
                  JAVA_LONG,
                  JAVA_LONG,
                  JAVA_LONG,
                  JAVA_LONG,
                  JAVA_FLOAT,
                  JAVA_LONG,
                  JAVA_LONG,
                  JAVA_LONG,
                  ADDRESS,
                  ADDRESS));

  private Clblast() {}

  /** Queues {@code c = a * b} for matrices of n rows and n columns. */
  static void sgemm(long queue, int n, NativeHandle a, NativeHandle b, NativeHandle c) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment place = arena.allocateFrom(JAVA_LONG, queue);
      int status =
          (int)
              SGEMM.invokeExact(
                  ROW_MAJOR,
                  NOT_TRANSPOSED,
                  NOT_TRANSPOSED,
                  (long) n,
                  (long) n,
                  (long) n,
                  1f,
                  a.value(),
                  elements(a),
                  (long) n,
                  b.value(),
                  elements(b),
                  (long) n,
                  0f,
                  c.value(),
                  elements(c),
                  (long) n,
                  place,
                  MemorySegment.NULL);
      if (status != 0) {
        throw new IllegalStateException("CLBlastSgemm answered " + status);
      }
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new AssertionError("no other exception is declared", e);
    }
  }

  /** Returns the offset in elements, as CLBlast expects it. */
  private static long elements(NativeHandle handle) {
    return handle.offset() / Float.BYTES;
  }
}
