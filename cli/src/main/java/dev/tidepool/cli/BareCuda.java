package dev.tidepool.cli;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.tidepool.spi.support.FailureText;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.NoSuchElementException;
import java.util.Optional;

/**
 * The CUDA driver without the library: one device, one stream, two blocks of device memory and one
 * of pinned host memory. Each movement is one command and a wait. The library is compared with it.
 *
 * <p>Only the thread that opened it may call it.
 */
final class BareCuda implements AutoCloseable {
  private static final String LIBRARY = "tidepool.cuda.library";
  private static final int NON_BLOCKING = 1;
  private static final int COMPUTE_MODE = 20;
  private static final int PROHIBITED = 2;

  private final SymbolLookup library;
  private final Arena arena = Arena.ofConfined();
  private final MemorySegment out = arena.allocate(JAVA_LONG);
  private final Deque<Runnable> endings = new ArrayDeque<>();
  private final long context;
  private final long stream;
  private final long x;
  private final long y;
  private final MemorySegment pinned;
  private final MethodHandle toDevice;
  private final MethodHandle toHost;
  private final MethodHandle onDevice;
  private final MethodHandle fromPeer;
  private final MethodHandle set;
  private final MethodHandle join;
  private final MethodHandle allocateAsync;
  private final MethodHandle freeAsync;
  private final MethodHandle allocate;
  private final MethodHandle free;

  private BareCuda(SymbolLookup library, int number, long bytes) {
    this.library = library;
    try {
      call("cuInit", 0);
      int device = device(number);
      context = get("cuDevicePrimaryCtxRetain", device);
      ending("cuDevicePrimaryCtxRelease_v2", device);
      call("cuCtxPushCurrent_v2", context);
      ending("cuCtxPopCurrent_v2", out);
      stream = get("cuStreamCreateWithPriority", NON_BLOCKING, 0);
      ending("cuStreamDestroy_v2", stream);
      x = get("cuMemAlloc_v2", bytes);
      ending("cuMemFree_v2", x);
      y = get("cuMemAlloc_v2", bytes);
      ending("cuMemFree_v2", y);
      pinned = MemorySegment.ofAddress(get("cuMemHostAlloc", bytes, 0)).reinterpret(bytes);
      ending("cuMemFreeHost", pinned.address());
      toDevice = link("cuMemcpyHtoDAsync_v2", JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_LONG);
      toHost = link("cuMemcpyDtoHAsync_v2", ADDRESS, JAVA_LONG, JAVA_LONG, JAVA_LONG);
      onDevice = link("cuMemcpyDtoDAsync_v2", JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
      fromPeer =
          link(
              "cuMemcpyPeerAsync",
              JAVA_LONG,
              JAVA_LONG,
              JAVA_LONG,
              JAVA_LONG,
              JAVA_LONG,
              JAVA_LONG);
      set = link("cuMemsetD8Async", JAVA_LONG, JAVA_BYTE, JAVA_LONG, JAVA_LONG);
      join = link("cuStreamSynchronize", JAVA_LONG);
      allocateAsync = link("cuMemAllocAsync", ADDRESS, JAVA_LONG, JAVA_LONG);
      freeAsync = link("cuMemFreeAsync", JAVA_LONG, JAVA_LONG);
      allocate = link("cuMemAlloc_v2", ADDRESS, JAVA_LONG);
      free = link("cuMemFree_v2", JAVA_LONG);
    } catch (RuntimeException | Error refused) {
      close();
      throw refused;
    }
  }

  /** Returns whether an id of the library denotes a device of the driver. */
  static boolean drives(String id) {
    return id.startsWith("cuda:");
  }

  /**
   * Opens a device of the driver.
   *
   * @param id the id of the device in the library
   * @param bytes the bytes of each block
   * @throws UnsupportedOperationException if the device or the driver is absent, or refuses a
   *     request
   */
  static BareCuda open(String id, long bytes) {
    if (!drives(id)) {
      throw new Refused(id + " is none of the CUDA driver's");
    }
    try {
      String name =
          Optional.ofNullable(System.getProperty(LIBRARY))
              .or(() -> Optional.ofNullable(System.getenv("TIDEPOOL_CUDA_LIBRARY")))
              .orElse("libcuda.so.1");
      SymbolLookup library = SymbolLookup.libraryLookup(name, Arena.global());
      return new BareCuda(library, Integer.parseInt(id.substring("cuda:".length())), bytes);
    } catch (IllegalArgumentException
        | IllegalStateException
        | IllegalCallerException
        | NoSuchElementException absent) {
      throw new Refused("the bare driver is not available: " + FailureText.of(absent));
    }
  }

  /** Returns the driver's number of a device that the library numbers by those it can open. */
  private int device(int number) {
    int before = 0;
    int count = (int) get("cuDeviceGetCount");
    for (int ordinal = 0; ordinal < count; ordinal++) {
      int device = (int) get("cuDeviceGet", ordinal);
      if (canBeOpened(device) && before++ == number) {
        return device;
      }
    }
    throw new Refused("the driver opens " + before + " devices, not cuda:" + number);
  }

  private boolean canBeOpened(int device) {
    if ((int) get("cuDeviceGetAttribute", COMPUTE_MODE, device) == PROHIBITED) {
      return false;
    }
    try {
      get("cuDevicePrimaryCtxRetain", device);
    } catch (Refused taken) {
      return false;
    }
    call("cuDevicePrimaryCtxRelease_v2", device);
    return true;
  }

  /** Copies a number of times, one copy behind the other, and waits. */
  void hostToDevice(long bytes, int times) {
    run(times, () -> (int) toDevice.invokeExact(x, pinned, bytes, stream));
  }

  /** Like {@link #hostToDevice}, in the other direction. */
  void deviceToHost(long bytes, int times) {
    run(times, () -> (int) toHost.invokeExact(pinned, x, bytes, stream));
  }

  /** Like {@link #hostToDevice}, from one block of the device to the other. */
  void deviceToDevice(long bytes, int times) {
    run(times, () -> (int) onDevice.invokeExact(y, x, bytes, stream));
  }

  /** Copies from the memory of another device, which must have been opened before this one. */
  void fromPeer(BareCuda peer, long bytes, int times) {
    run(times, () -> (int) fromPeer.invokeExact(x, context, peer.x, peer.context, bytes, stream));
  }

  void fill(long bytes) {
    run(1, () -> (int) set.invokeExact(x, (byte) 0, bytes, stream));
  }

  /** Allocates from the driver's default pool in stream order, and frees. */
  void allocateInOrder(long bytes) {
    check("cuMemAllocAsync", () -> (int) allocateAsync.invokeExact(out, bytes, stream));
    long address = out.get(JAVA_LONG, 0);
    check("cuMemFreeAsync", () -> (int) freeAsync.invokeExact(address, stream));
  }

  /** Allocates without a pool, and frees. */
  void allocatePlainly(long bytes) {
    check("cuMemAlloc_v2", () -> (int) allocate.invokeExact(out, bytes));
    long address = out.get(JAVA_LONG, 0);
    check("cuMemFree_v2", () -> (int) free.invokeExact(address));
  }

  private void run(int times, Command command) {
    for (int i = 0; i < times; i++) {
      check("the command", command);
    }
    check("cuStreamSynchronize", () -> (int) join.invokeExact(stream));
  }

  /** A call that returns an error code. */
  @FunctionalInterface
  private interface Command {
    int invoke() throws Throwable;
  }

  /** Thrown if the driver does not support the request on this machine. */
  private static final class Refused extends UnsupportedOperationException {
    private static final long serialVersionUID = 1L;

    Refused(String message) {
      super(message);
    }
  }

  private static void check(String function, Command command) {
    int code;
    try {
      code = command.invoke();
    } catch (RuntimeException | Error thrown) {
      throw thrown;
    } catch (Throwable unexpected) {
      throw new IllegalStateException(unexpected);
    }
    if (code != 0) {
      throw new Refused(function + " answered " + code);
    }
  }

  private MethodHandle link(String function, MemoryLayout... parameters) {
    return Linker.nativeLinker()
        .downcallHandle(library.findOrThrow(function), FunctionDescriptor.of(JAVA_INT, parameters));
  }

  private void call(String function, Object... arguments) {
    MemoryLayout[] layouts = new MemoryLayout[arguments.length];
    for (int i = 0; i < arguments.length; i++) {
      layouts[i] =
          switch (arguments[i]) {
            case Integer _ -> JAVA_INT;
            case Long _ -> JAVA_LONG;
            default -> ADDRESS;
          };
    }
    MethodHandle handle = link(function, layouts);
    check(function, () -> (int) handle.invokeWithArguments(arguments));
  }

  /** Calls a function and returns the value that it stores at its first parameter. */
  private long get(String function, Object... arguments) {
    Object[] all = new Object[arguments.length + 1];
    all[0] = out;
    System.arraycopy(arguments, 0, all, 1, arguments.length);
    call(function, all);
    return out.get(JAVA_LONG, 0);
  }

  private void ending(String function, Object argument) {
    endings.push(() -> call(function, argument));
  }

  @Override
  public void close() {
    try {
      while (!endings.isEmpty()) {
        endings.pop().run();
      }
    } catch (Refused refused) {
      System.getLogger(BareCuda.class.getName())
          .log(System.Logger.Level.DEBUG, "the driver does not take back", refused);
    } finally {
      arena.close();
    }
  }
}
