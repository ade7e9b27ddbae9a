package dev.tidepool.cuda;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.tidepool.AcceleratorException;
import dev.tidepool.cuda.LiveObjects.Kind;
import dev.tidepool.spi.Shutdown;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * The few shapes that the driver's functions come in, and the one place where a return code becomes
 * an exception, where live objects are counted, and where calls end once the virtual machine shuts
 * down (the driver is torn down then; its memory goes with the process).
 */
final class NativeCall {
  /** A function that only returns a code. */
  @FunctionalInterface
  interface Code {
    int invoke() throws Throwable;
  }

  /** A function that stores a handle, an address or a number of at most 8 bytes. */
  @FunctionalInterface
  interface Output {
    int invoke(MemorySegment value) throws Throwable;
  }

  private NativeCall() {}

  static void call(String function, Code code) {
    check(function, code(function, code));
  }

  /** The code itself, for functions that answer with it. */
  static int code(String function, Code code) {
    requireRunning(function);
    return invoke(function, code);
  }

  static long get(String function, Output output) {
    requireRunning(function);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment value = arena.allocate(JAVA_LONG);
      check(function, invoke(function, () -> output.invoke(value)));
      return value.get(JAVA_LONG, 0);
    }
  }

  static long create(String function, Kind kind, Output output) {
    long handle = get(function, output);
    LiveObjects.created(kind);
    return handle;
  }

  /** A release that fails is an error all the same; one during shutdown does nothing. */
  static void release(String function, Kind kind, Code code) {
    if (Shutdown.hasBegun()) {
      return;
    }
    // What the driver does not give back is not ours any more either.
    LiveObjects.released(kind);
    check(function, invoke(function, code));
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

  private static int invoke(String function, Code code) {
    try {
      return code.invoke();
    } catch (RuntimeException | Error thrown) {
      throw thrown;
    } catch (Throwable unexpected) {
      throw new IllegalStateException("the call of " + function + " failed", unexpected);
    }
  }

  private static void requireRunning(String function) {
    if (Shutdown.hasBegun()) {
      throw new IllegalStateException(
          function + ": the virtual machine is shutting down, the CUDA driver is left alone");
    }
  }
}
