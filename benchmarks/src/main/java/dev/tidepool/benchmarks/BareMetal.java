package dev.tidepool.benchmarks;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;

/** Direct messages to Metal: a device with private memory, and memory that the host can access. */
final class BareMetal implements AutoCloseable {
  private static final long SHARED = 0;
  private static final long PRIVATE = 2 << 4;

  private final SymbolLookup library;
  private final MethodHandle select;
  private final MethodHandle push;
  private final MethodHandle pop;
  private final MethodHandle ask;
  private final MethodHandle tell;
  private final MethodHandle allocate;
  private final MethodHandle copy;

  private final long commandBuffer;
  private final long blitCommandEncoder;
  private final long endEncoding;
  private final long commit;
  private final long waitUntilCompleted;
  private final long copyFromBuffer;

  private final long device;
  private final long queue;
  private final long shared;
  private final long hidden;
  private final MemorySegment contents;

  /**
   * Opens the default device.
   *
   * @param file the library with all functions
   * @param bytes the size of each memory
   */
  BareMetal(Path file, long bytes) {
    library = SymbolLookup.libraryLookup(file, Arena.global());
    select = link("sel_registerName", FunctionDescriptor.of(JAVA_LONG, ADDRESS));
    push = link("objc_autoreleasePoolPush", FunctionDescriptor.of(JAVA_LONG));
    pop = link("objc_autoreleasePoolPop", FunctionDescriptor.ofVoid(JAVA_LONG));
    ask = send(JAVA_LONG);
    tell = link("objc_msgSend", FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_LONG));
    allocate = send(JAVA_LONG, JAVA_LONG, JAVA_LONG);
    copy =
        link(
            "objc_msgSend",
            FunctionDescriptor.ofVoid(
                JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG));
    commandBuffer = selector("commandBuffer");
    blitCommandEncoder = selector("blitCommandEncoder");
    endEncoding = selector("endEncoding");
    commit = selector("commit");
    waitUntilCompleted = selector("waitUntilCompleted");
    copyFromBuffer = selector("copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:");
    MethodHandle create = link("MTLCreateSystemDefaultDevice", FunctionDescriptor.of(JAVA_LONG));
    try {
      device = (long) create.invokeExact();
      queue = (long) ask.invokeExact(device, selector("newCommandQueue"));
      long newBuffer = selector("newBufferWithLength:options:");
      shared = (long) allocate.invokeExact(device, newBuffer, bytes, SHARED);
      hidden = (long) allocate.invokeExact(device, newBuffer, bytes, PRIVATE);
      long address = (long) ask.invokeExact(shared, selector("contents"));
      contents = MemorySegment.ofAddress(address).reinterpret(bytes);
    } catch (Throwable e) {
      throw new IllegalStateException("Metal cannot be opened", e);
    }
  }

  private MethodHandle link(String function, FunctionDescriptor descriptor) {
    return Linker.nativeLinker().downcallHandle(library.findOrThrow(function), descriptor);
  }

  private MethodHandle send(MemoryLayout result, MemoryLayout... arguments) {
    return link(
        "objc_msgSend",
        FunctionDescriptor.of(result, JAVA_LONG, JAVA_LONG).appendArgumentLayouts(arguments));
  }

  private long selector(String name) {
    try (Arena arena = Arena.ofConfined()) {
      return (long) select.invokeExact(arena.allocateFrom(name));
    } catch (Throwable e) {
      throw new IllegalStateException(name, e);
    }
  }

  /** Returns the memory that the host can access. */
  MemorySegment contents() {
    return contents;
  }

  /** Copies bytes from the host's memory to the same offset of the device's, and waits. */
  void upload(long offset, long bytes) {
    blit(shared, hidden, offset, bytes);
  }

  /** Copies bytes from the device's memory to the same offset of the host's, and waits. */
  void download(long offset, long bytes) {
    blit(hidden, shared, offset, bytes);
  }

  private void blit(long source, long target, long offset, long bytes) {
    try {
      long pool = (long) push.invokeExact();
      long commands = (long) ask.invokeExact(queue, commandBuffer);
      long encoder = (long) ask.invokeExact(commands, blitCommandEncoder);
      copy.invokeExact(encoder, copyFromBuffer, source, offset, target, offset, bytes);
      tell.invokeExact(encoder, endEncoding);
      tell.invokeExact(commands, commit);
      tell.invokeExact(commands, waitUntilCompleted);
      pop.invokeExact(pool);
    } catch (Throwable e) {
      throw new IllegalStateException("a copy failed", e);
    }
  }

  @Override
  public void close() {
    long release = selector("release");
    try {
      for (long object : new long[] {hidden, shared, queue, device}) {
        tell.invokeExact(object, release);
      }
    } catch (Throwable e) {
      throw new IllegalStateException("Metal cannot be closed", e);
    }
  }
}
