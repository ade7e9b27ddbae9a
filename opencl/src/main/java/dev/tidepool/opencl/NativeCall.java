package dev.tidepool.opencl;

import static java.lang.foreign.MemorySegment.NULL;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.tidepool.AcceleratorException;
import dev.tidepool.spi.Shutdown;
import dev.tidepool.spi.support.DriverCall;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Calls OpenCL's functions, which have a few shapes. This class converts return codes to
 * exceptions, counts live objects, and refuses calls once the virtual machine shuts down: drivers
 * are torn down then, and calls crash.
 */
final class NativeCall {
  /** A function that returns an object and stores a code. */
  @FunctionalInterface
  interface Creation {
    long invoke(MemorySegment error) throws Throwable;
  }

  /** A function that enqueues a command and stores its event. */
  @FunctionalInterface
  interface Command {
    int invoke(MemorySegment event) throws Throwable;
  }

  /** A function that stores a value, or its size if there is no room for the value. */
  @FunctionalInterface
  interface Query {
    int invoke(long size, MemorySegment value, MemorySegment actualSize) throws Throwable;
  }

  /** A function that stores as many handles as fit, and the number of all handles. */
  @FunctionalInterface
  interface Listing {
    int invoke(int capacity, MemorySegment handles, MemorySegment count) throws Throwable;
  }

  private NativeCall() {}

  static void call(String function, DriverCall.Code code) {
    requireRunning(function);
    check(function, DriverCall.invoke(function, code));
  }

  static long create(String function, ObjectKind kind, Creation creation) {
    requireRunning(function);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment error = arena.allocate(JAVA_INT);
      long handle;
      try {
        handle = creation.invoke(error);
      } catch (Throwable unexpected) {
        throw DriverCall.unexpected(function, unexpected);
      }
      check(function, error.get(JAVA_INT, 0));
      ObjectKind.LIVE.created(kind);
      return handle;
    }
  }

  /** Returns the command's event, which the caller releases. */
  static long command(String function, Command command) {
    requireRunning(function);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment event = arena.allocate(JAVA_LONG);
      check(function, DriverCall.invoke(function, () -> command.invoke(event)));
      ObjectKind.LIVE.created(ObjectKind.EVENT);
      return event.get(JAVA_LONG, 0);
    }
  }

  static byte[] query(String function, Query query) {
    requireRunning(function);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment size = arena.allocate(JAVA_LONG);
      check(function, DriverCall.invoke(function, () -> query.invoke(0L, NULL, size)));
      long byteSize = size.get(JAVA_LONG, 0);
      MemorySegment value = arena.allocate(Math.max(byteSize, 1), JAVA_LONG.byteAlignment());
      check(function, DriverCall.invoke(function, () -> query.invoke(byteSize, value, NULL)));
      return value.asSlice(0, byteSize).toArray(JAVA_BYTE);
    }
  }

  static long[] list(String function, Listing listing) {
    requireRunning(function);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment count = arena.allocate(JAVA_INT);
      check(function, DriverCall.invoke(function, () -> listing.invoke(0, NULL, count)));
      int capacity = count.get(JAVA_INT, 0);
      if (capacity == 0) {
        return new long[0];
      }
      MemorySegment handles = arena.allocate(JAVA_LONG, capacity);
      check(function, DriverCall.invoke(function, () -> listing.invoke(capacity, handles, count)));
      // The number may have changed between the two calls.
      int listed = Math.min(capacity, count.get(JAVA_INT, 0));
      return Arrays.copyOf(handles.toArray(JAVA_LONG), listed);
    }
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
    if (code != ErrorCodes.CL_SUCCESS) {
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

  static void requireRunning(String function) {
    DriverCall.requireRunning(function, "OpenCL driver");
  }

  /**
   * Returns a C string in a query's answer; drivers differ on whether the terminator is counted.
   */
  static String text(byte[] value) {
    int length = value.length;
    while (length > 0 && value[length - 1] == 0) {
      length--;
    }
    return new String(value, 0, length, StandardCharsets.UTF_8).strip();
  }

  /**
   * Returns a {@code cl_bool}, {@code cl_uint}, {@code cl_ulong} or {@code size_t} in a query's
   * answer.
   */
  static long number(byte[] value) {
    ByteBuffer bytes = ByteBuffer.wrap(value).order(ByteOrder.nativeOrder());
    return switch (value.length) {
      case 4 -> Integer.toUnsignedLong(bytes.getInt());
      case 8 -> bytes.getLong();
      default -> throw new IllegalStateException(value.length + " bytes are no OpenCL number");
    };
  }
}
