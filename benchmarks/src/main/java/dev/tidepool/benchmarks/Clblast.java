package dev.tidepool.benchmarks;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;

/** The matrix product of CLBlast. */
final class Clblast {
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

  /**
   * Submits the product of two matrices of n rows and columns, row by row in memory.
   *
   * @param queue memory that contains the handle of the queue
   */
  static void sgemm(MemorySegment queue, long n, long a, long b, long c) {
    int status;
    try {
      status =
          (int)
              SGEMM.invokeExact(
                  101,
                  111,
                  111,
                  n,
                  n,
                  n,
                  1f,
                  a,
                  0L,
                  n,
                  b,
                  0L,
                  n,
                  0f,
                  c,
                  0L,
                  n,
                  queue,
                  MemorySegment.NULL);
    } catch (Throwable e) {
      throw new IllegalStateException(e);
    }
    if (status != 0) {
      throw new IllegalStateException("CLBlastSgemm answered " + status);
    }
  }
}
