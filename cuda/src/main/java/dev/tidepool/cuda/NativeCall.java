package dev.tidepool.cuda;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.tidepool.AcceleratorException;
import dev.tidepool.spi.Shutdown;
import dev.tidepool.spi.support.DriverCall;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Calls the driver's functions, which have a few shapes. This class converts return codes to
 * exceptions, counts live objects, and refuses calls once the virtual machine shuts down: the
 * driver is torn down then, and its memory goes with the process.
 */
final class NativeCall {
  /** A function that stores a handle, an address or a number of at most 8 bytes. */
  @FunctionalInterface
  interface Output {
    int invoke(MemorySegment value) throws Throwable;
  }

  private NativeCall() {}

  static void call(String function, DriverCall.Code code) {
    check(function, code(function, code));
  }

  /** Returns the code itself, for functions whose result it is. */
  static int code(String function, DriverCall.Code code) {
    requireRunning(function);
    return DriverCall.invoke(function, code);
  }

  static long get(String function, Output output) {
    requireRunning(function);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment value = arena.allocate(JAVA_LONG);
      check(function, DriverCall.invoke(function, () -> output.invoke(value)));
      return value.get(JAVA_LONG, 0);
    }
  }

  static long create(String function, ObjectKind kind, Output output) {
    long handle = get(function, output);
    ObjectKind.LIVE.created(kind);
    return handle;
  }

  /** Releases an object. A failed release is an error; a release during shutdown does nothing. */
  static void release(String function, ObjectKind kind, DriverCall.Code code) {
    if (Shutdown.hasBegun()) {
      return;
    }
    // An object that the driver fails to release is nevertheless lost to this process.
    ObjectKind.LIVE.released(kind);
    check(function, DriverCall.invoke(function, code));
  }

  static void check(String function, int code) {
    if (code != ErrorCodes.CUDA_SUCCESS) {
      throw failure(function, code);
    }
  }

  static AcceleratorException failure(String function, int code) {
    return new AcceleratorException(
        function,
        code,
        ErrorCodes.nameOf(code),
        ErrorCodes.adviceFor(code),
        ErrorCodes.kindOf(code));
  }

  private static void requireRunning(String function) {
    DriverCall.requireRunning(function, "CUDA driver");
  }
}
