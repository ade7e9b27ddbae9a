package dev.tidepool.testkit.cuda;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A library called by name, as briefly as tests want it: the types of a call are those of its
 * arguments. {@code must} expects success; the other verbs are what most tests do.
 */
final class Driver {
  static final int INVALID_VALUE = 1;
  static final int OUT_OF_MEMORY = 2;
  static final int NOT_INITIALIZED = 3;
  static final int DEVICE_UNAVAILABLE = 46;
  static final int INVALID_IMAGE = 200;
  static final int INVALID_CONTEXT = 201;
  static final int NO_BINARY_FOR_GPU = 209;
  static final int PEER_ACCESS_UNSUPPORTED = 217;
  static final int INVALID_PTX = 218;
  static final int INVALID_HANDLE = 400;
  static final int NOT_FOUND = 500;
  static final int NOT_READY = 600;
  static final int ILLEGAL_ADDRESS = 700;
  static final int PEER_ACCESS_ALREADY_ENABLED = 704;
  static final int PEER_ACCESS_NOT_ENABLED = 705;
  static final int CONTEXT_IS_DESTROYED = 709;
  static final int HOST_MEMORY_ALREADY_REGISTERED = 712;
  static final int HOST_MEMORY_NOT_REGISTERED = 713;
  static final int NOT_PERMITTED = 800;
  static final int NOT_SUPPORTED = 801;

  /** A structure passed by value. */
  record ByValue(MemoryLayout layout, MemorySegment value) {}

  private final SymbolLookup library;
  private final Map<String, MethodHandle> handles = new ConcurrentHashMap<>();

  Driver(Path path) {
    library = SymbolLookup.libraryLookup(path, Arena.global());
  }

  /** The simulated driver with that many devices, initialized, the first one's context current. */
  static Driver with(SimulatedCuda simulation, int devices) {
    simulation.reset(devices);
    Driver driver = new Driver(simulation.driver());
    driver.must("cuInit", 0);
    driver.must("cuCtxSetCurrent", driver.retain(0));
    return driver;
  }

  int call(String function, Object... arguments) {
    return call(function, library.findOrThrow(function), arguments);
  }

  /** The address that {@code cuGetProcAddress} answers for a program of a CUDA version. */
  MemorySegment entryPoint(String function, int version) {
    try (Arena arena = Arena.ofConfined()) {
      return MemorySegment.ofAddress(
          entryPoint(text(arena, function), version, MemorySegment.NULL));
    }
  }

  /** Like the method above, but for a name in memory; stores the outcome of the search. */
  long entryPoint(MemorySegment function, int version, MemorySegment status) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment found = arena.allocate(JAVA_LONG);
      must("cuGetProcAddress_v2", function, found, version, 0L, status);
      return found.get(JAVA_LONG, 0);
    }
  }

  /** Calls the function at an address. */
  int call(MemorySegment function, Object... arguments) {
    return call("at " + function.address(), function, arguments);
  }

  private int call(String function, MemorySegment address, Object... arguments) {
    MemoryLayout[] layouts =
        Arrays.stream(arguments).map(Driver::layout).toArray(MemoryLayout[]::new);
    MethodHandle handle =
        handles.computeIfAbsent(
            function + Arrays.toString(layouts),
            _ ->
                Linker.nativeLinker()
                    .downcallHandle(address, FunctionDescriptor.of(JAVA_INT, layouts)));
    Object[] values =
        Arrays.stream(arguments).map(a -> a instanceof ByValue s ? s.value() : a).toArray();
    try {
      return (int) handle.invokeWithArguments(values);
    } catch (Throwable thrown) {
      throw new AssertionError(function, thrown);
    }
  }

  private static MemoryLayout layout(Object argument) {
    return switch (argument) {
      case Integer _ -> JAVA_INT;
      case Long _ -> JAVA_LONG;
      case Short _ -> JAVA_SHORT;
      case Byte _ -> JAVA_BYTE;
      case Float _ -> JAVA_FLOAT;
      case MemorySegment _ -> ADDRESS;
      case ByValue structure -> structure.layout();
      default -> throw new IllegalArgumentException("what is " + argument + " in C?");
    };
  }

  void must(String function, Object... arguments) {
    int code = call(function, arguments);
    if (code != 0) {
      throw new AssertionError(function + Arrays.toString(arguments) + " answers " + code);
    }
  }

  /** The number that a function stores at its first argument. */
  long get(String function, Object... others) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment out = arena.allocate(JAVA_LONG);
      Object[] all = new Object[others.length + 1];
      all[0] = out;
      System.arraycopy(others, 0, all, 1, others.length);
      must(function, all);
      return out.get(JAVA_LONG, 0);
    }
  }

  /** The code of a function that stores a number nobody wants. */
  int tryGet(String function, Object... others) {
    try (Arena arena = Arena.ofConfined()) {
      Object[] all = new Object[others.length + 1];
      all[0] = arena.allocate(JAVA_LONG);
      System.arraycopy(others, 0, all, 1, others.length);
      return call(function, all);
    }
  }

  long retain(int device) {
    return get("cuDevicePrimaryCtxRetain", device);
  }

  long stream() {
    return get("cuStreamCreateWithPriority", 1, 0);
  }

  long event() {
    return get("cuEventCreate", 2);
  }

  long allocate(long bytes) {
    return get("cuMemAlloc_v2", bytes);
  }

  /** Pinned memory; freed by {@code cuMemFreeHost}. */
  MemorySegment pinned(long bytes) {
    return MemorySegment.ofAddress(get("cuMemHostAlloc", bytes, 0)).reinterpret(bytes);
  }

  void synchronize(long stream) {
    must("cuStreamSynchronize", stream);
  }

  /** Writes bytes to device memory and waits for them. */
  void write(long device, byte[] bytes) {
    long stream = stream();
    MemorySegment pinned = pinned(bytes.length);
    MemorySegment.copy(bytes, 0, pinned, JAVA_BYTE, 0, bytes.length);
    must("cuMemcpyHtoDAsync_v2", device, pinned, (long) bytes.length, stream);
    synchronize(stream);
    must("cuMemFreeHost", pinned);
    must("cuStreamDestroy_v2", stream);
  }

  byte[] read(long device, int count) {
    long stream = stream();
    MemorySegment pinned = pinned(count);
    must("cuMemcpyDtoHAsync_v2", pinned, device, (long) count, stream);
    synchronize(stream);
    byte[] bytes = pinned.toArray(JAVA_BYTE);
    must("cuMemFreeHost", pinned);
    must("cuStreamDestroy_v2", stream);
    return bytes;
  }

  static byte[] pattern(int length) {
    byte[] bytes = new byte[length];
    for (int i = 0; i < length; i++) {
      bytes[i] = (byte) (i * 31 + 7);
    }
    return bytes;
  }

  static MemorySegment text(Arena arena, String text) {
    return arena.allocateFrom(text, StandardCharsets.UTF_8);
  }
}
