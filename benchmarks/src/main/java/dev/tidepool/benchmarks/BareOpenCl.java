package dev.tidepool.benchmarks;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;

/**
 * Direct calls of OpenCL: one context and one queue on the first device, and no layer between the
 * caller and the driver. Not safe for concurrent use.
 */
final class BareOpenCl implements AutoCloseable {
  private static final SymbolLookup LIBRARY =
      SymbolLookup.libraryLookup("libOpenCL.so.1", Arena.global());

  private static final MethodHandle GET_PLATFORMS =
      function("clGetPlatformIDs", JAVA_INT, JAVA_INT, ADDRESS, ADDRESS);
  private static final MethodHandle GET_DEVICES =
      function("clGetDeviceIDs", JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT, ADDRESS, ADDRESS);
  private static final MethodHandle CREATE_CONTEXT =
      function("clCreateContext", ADDRESS, ADDRESS, JAVA_INT, ADDRESS, ADDRESS, ADDRESS, ADDRESS);
  private static final MethodHandle CREATE_QUEUE =
      function("clCreateCommandQueue", ADDRESS, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS);
  private static final MethodHandle CREATE_BUFFER =
      function("clCreateBuffer", ADDRESS, ADDRESS, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS);
  private static final MethodHandle WRITE = transfer("clEnqueueWriteBuffer");
  private static final MethodHandle READ = transfer("clEnqueueReadBuffer");
  private static final MethodHandle FILL =
      function(
          "clEnqueueFillBuffer",
          JAVA_INT,
          ADDRESS,
          ADDRESS,
          ADDRESS,
          JAVA_LONG,
          JAVA_LONG,
          JAVA_LONG,
          JAVA_INT,
          ADDRESS,
          ADDRESS);
  private static final MethodHandle FINISH = function("clFinish", JAVA_INT, ADDRESS);
  private static final MethodHandle RELEASE_BUFFER =
      function("clReleaseMemObject", JAVA_INT, ADDRESS);
  private static final MethodHandle RELEASE_QUEUE =
      function("clReleaseCommandQueue", JAVA_INT, ADDRESS);
  private static final MethodHandle RELEASE_CONTEXT =
      function("clReleaseContext", JAVA_INT, ADDRESS);

  private static final long ALL_DEVICES = 0xFFFFFFFFL;
  private static final long READ_WRITE = 1;

  private final Arena arena = Arena.ofConfined();
  private final MemorySegment error = arena.allocate(JAVA_INT);
  private final MemorySegment zero = arena.allocate(JAVA_BYTE);
  private final MemorySegment context;
  private final MemorySegment queue;

  BareOpenCl() {
    try {
      MemorySegment handle = arena.allocate(ADDRESS);
      check((int) GET_PLATFORMS.invokeExact(1, handle, MemorySegment.NULL));
      MemorySegment platform = handle.get(ADDRESS, 0);
      check((int) GET_DEVICES.invokeExact(platform, ALL_DEVICES, 1, handle, MemorySegment.NULL));
      MemorySegment device = handle.get(ADDRESS, 0);
      context =
          (MemorySegment)
              CREATE_CONTEXT.invokeExact(
                  MemorySegment.NULL, 1, handle, MemorySegment.NULL, MemorySegment.NULL, error);
      check(error.get(JAVA_INT, 0));
      queue = (MemorySegment) CREATE_QUEUE.invokeExact(context, device, 0L, error);
      check(error.get(JAVA_INT, 0));
    } catch (Throwable e) {
      throw failure(e);
    }
  }

  MemorySegment allocate(long bytes) {
    try {
      MemorySegment buffer =
          (MemorySegment)
              CREATE_BUFFER.invokeExact(context, READ_WRITE, bytes, MemorySegment.NULL, error);
      check(error.get(JAVA_INT, 0));
      return buffer;
    } catch (Throwable e) {
      throw failure(e);
    }
  }

  void free(MemorySegment buffer) {
    try {
      check((int) RELEASE_BUFFER.invokeExact(buffer));
    } catch (Throwable e) {
      throw failure(e);
    }
  }

  /** Writes all of {@code source} to the buffer, and waits. */
  void write(MemorySegment buffer, MemorySegment source) {
    move(WRITE, buffer, 0, source);
  }

  /** Writes all of {@code source} to the buffer at an offset, and waits. */
  void write(MemorySegment buffer, long offset, MemorySegment source) {
    move(WRITE, buffer, offset, source);
  }

  /** Fills all of {@code destination} from the buffer, and waits. */
  void read(MemorySegment buffer, MemorySegment destination) {
    move(READ, buffer, 0, destination);
  }

  /** Fills all of {@code destination} from the buffer at an offset, and waits. */
  void read(MemorySegment buffer, long offset, MemorySegment destination) {
    move(READ, buffer, offset, destination);
  }

  /** Clears a buffer, and waits. */
  void clear(MemorySegment buffer, long bytes) {
    try {
      check(
          (int)
              FILL.invokeExact(
                  queue, buffer, zero, 1L, 0L, bytes, 0, MemorySegment.NULL, MemorySegment.NULL));
      check((int) FINISH.invokeExact(queue));
    } catch (Throwable e) {
      throw failure(e);
    }
  }

  /** Returns the handle of the queue. */
  long queue() {
    return queue.address();
  }

  /** Waits for all commands. */
  void finish() {
    try {
      check((int) FINISH.invokeExact(queue));
    } catch (Throwable e) {
      throw failure(e);
    }
  }

  @Override
  public void close() {
    try {
      check((int) RELEASE_QUEUE.invokeExact(queue));
      check((int) RELEASE_CONTEXT.invokeExact(context));
    } catch (Throwable e) {
      throw failure(e);
    } finally {
      arena.close();
    }
  }

  private void move(MethodHandle function, MemorySegment buffer, long offset, MemorySegment host) {
    try {
      check(
          (int)
              function.invokeExact(
                  queue,
                  buffer,
                  1,
                  offset,
                  host.byteSize(),
                  host,
                  0,
                  MemorySegment.NULL,
                  MemorySegment.NULL));
    } catch (Throwable e) {
      throw failure(e);
    }
  }

  private static MethodHandle transfer(String name) {
    return function(
        name, JAVA_INT, ADDRESS, ADDRESS, JAVA_INT, JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_INT,
        ADDRESS, ADDRESS);
  }

  private static MethodHandle function(
      String name, MemoryLayout result, MemoryLayout... parameters) {
    return Linker.nativeLinker()
        .downcallHandle(LIBRARY.findOrThrow(name), FunctionDescriptor.of(result, parameters));
  }

  private static void check(int code) {
    if (code != 0) {
      throw new IllegalStateException("OpenCL answered " + code);
    }
  }

  private static RuntimeException failure(Throwable e) {
    return e instanceof RuntimeException known ? known : new IllegalStateException(e);
  }
}
