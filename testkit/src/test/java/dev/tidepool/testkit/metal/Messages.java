package dev.tidepool.testkit.metal;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BOOLEAN;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Messages to the simulated Metal, as briefly as tests want them: the types of a message are those
 * of its arguments. Objects are numbers. The other verbs are what most tests do.
 */
final class Messages {
  static final StructLayout SIZE = MemoryLayout.structLayout(JAVA_LONG, JAVA_LONG, JAVA_LONG);
  static final StructLayout RANGE = MemoryLayout.structLayout(JAVA_LONG, JAVA_LONG);

  static final long SHARED = SimulatedMetal.constant("MTLResourceStorageModeShared");
  static final long MANAGED = SimulatedMetal.constant("MTLResourceStorageModeManaged");
  static final long PRIVATE = SimulatedMetal.constant("MTLResourceStorageModePrivate");
  static final long COMPLETED = SimulatedMetal.constant("MTLCommandBufferStatusCompleted");
  static final long FAILED = SimulatedMetal.constant("MTLCommandBufferStatusError");
  static final long SAFE = SimulatedMetal.constant("MTLMathModeSafe");

  /** A structure passed by value. */
  record ByValue(StructLayout layout, long... numbers) {}

  private final SymbolLookup library;
  private final Map<String, MethodHandle> handles = new ConcurrentHashMap<>();
  private final Map<String, Long> selectors = new ConcurrentHashMap<>();

  /** Messages to a library as it is. */
  Messages(Path path) {
    library = SymbolLookup.libraryLookup(path, Arena.global());
  }

  /** The simulated Metal with that many devices. */
  static Messages with(SimulatedMetal simulation, int devices) {
    simulation.reset(devices);
    return new Messages(simulation.library());
  }

  static ByValue size(long width, long height, long depth) {
    return new ByValue(SIZE, width, height, depth);
  }

  static ByValue range(long location, long length) {
    return new ByValue(RANGE, location, length);
  }

  /** Calls a function in C that answers a number or an address. */
  long call(String function, Object... arguments) {
    return (long) Objects.requireNonNull(invoke(function, JAVA_LONG, arguments));
  }

  /** Calls a function in C that answers nothing. */
  void run(String function, Object... arguments) {
    invoke(function, null, arguments);
  }

  /** A message that answers a number or an object. */
  long send(long object, String selector, Object... arguments) {
    return (long) Objects.requireNonNull(message(JAVA_LONG, object, selector, arguments));
  }

  boolean ask(long object, String selector, Object... arguments) {
    return (boolean) Objects.requireNonNull(message(JAVA_BOOLEAN, object, selector, arguments));
  }

  double sendForDouble(long object, String selector) {
    return (double) Objects.requireNonNull(message(JAVA_DOUBLE, object, selector));
  }

  /** A message that answers a structure of numbers. */
  List<Long> sendForStructure(StructLayout layout, long object, String selector, Object... others) {
    boolean inMemory =
        layout.byteSize() > 16 && System.getProperty("os.arch").matches("amd64|x86_64");
    try (Arena arena = Arena.ofConfined()) {
      Object[] arguments = withReceiver(object, selector, others);
      MemorySegment answer =
          (MemorySegment)
              Objects.requireNonNull(
                  invoke(
                      arena, inMemory ? "objc_msgSend_stret" : "objc_msgSend", layout, arguments));
      return Arrays.stream(answer.toArray(JAVA_LONG)).boxed().toList();
    }
  }

  private @Nullable Object message(
      MemoryLayout answer, long object, String selector, Object... arguments) {
    return invoke("objc_msgSend", answer, withReceiver(object, selector, arguments));
  }

  private Object[] withReceiver(long object, String selector, Object[] arguments) {
    List<Object> all = new ArrayList<>(List.of(object, selector(selector)));
    all.addAll(Arrays.asList(arguments));
    return all.toArray();
  }

  long selector(String name) {
    return selectors.computeIfAbsent(name, each -> named("sel_registerName", each));
  }

  long type(String name) {
    return named("objc_getClass", name);
  }

  private long named(String function, String name) {
    try (Arena arena = Arena.ofConfined()) {
      return call(function, arena.allocateFrom(name));
    }
  }

  private @Nullable Object invoke(
      String function, @Nullable MemoryLayout answer, Object... arguments) {
    try (Arena arena = Arena.ofConfined()) {
      return invoke(arena, function, answer, arguments);
    }
  }

  private @Nullable Object invoke(
      Arena arena, String function, @Nullable MemoryLayout answer, Object... arguments) {
    MemoryLayout[] layouts =
        Arrays.stream(arguments).map(Messages::layout).toArray(MemoryLayout[]::new);
    FunctionDescriptor descriptor =
        answer == null
            ? FunctionDescriptor.ofVoid(layouts)
            : FunctionDescriptor.of(answer, layouts);
    MethodHandle handle =
        handles.computeIfAbsent(
            function + descriptor,
            _ -> Linker.nativeLinker().downcallHandle(library.findOrThrow(function), descriptor));
    List<Object> values = new ArrayList<>();
    if (answer instanceof StructLayout) {
      values.add(arena);
    }
    for (Object argument : arguments) {
      values.add(
          argument instanceof ByValue structure
              ? arena.allocateFrom(JAVA_LONG, structure.numbers())
              : argument);
    }
    try {
      return handle.invokeWithArguments(values);
    } catch (Throwable thrown) {
      throw new AssertionError(function, thrown);
    }
  }

  private static MemoryLayout layout(Object argument) {
    return switch (argument) {
      case Integer _ -> JAVA_INT;
      case Long _ -> JAVA_LONG;
      case Byte _ -> JAVA_BYTE;
      case Boolean _ -> JAVA_BOOLEAN;
      case MemorySegment _ -> ADDRESS;
      case ByValue structure -> structure.layout();
      default -> throw new IllegalArgumentException("what is " + argument + " in C?");
    };
  }

  /** A device; it is released when the simulation is reset. */
  long device(int ordinal) {
    long devices = call("MTLCopyAllDevices");
    long device = send(send(devices, "objectAtIndex:", (long) ordinal), "retain");
    send(devices, "release");
    return device;
  }

  void release(long object) {
    send(object, "release");
  }

  /** Runs the body with a pool. */
  void pooled(Runnable body) {
    long pool = call("objc_autoreleasePoolPush");
    try {
      body.run();
    } finally {
      run("objc_autoreleasePoolPop", pool);
    }
  }

  /** A string that the caller owns. */
  long string(String text) {
    try (Arena arena = Arena.ofConfined()) {
      return send(send(type("NSString"), "alloc"), "initWithUTF8String:", arena.allocateFrom(text));
    }
  }

  String text(long string) {
    return MemorySegment.ofAddress(send(string, "UTF8String"))
        .reinterpret(Long.MAX_VALUE)
        .getString(0);
  }

  long buffer(long device, long length, long options) {
    return send(device, "newBufferWithLength:options:", length, options);
  }

  /** The host's bytes of a buffer. */
  MemorySegment contents(long buffer) {
    return MemorySegment.ofAddress(send(buffer, "contents")).reinterpret(send(buffer, "length"));
  }

  long queue(long device) {
    return send(device, "newCommandQueue");
  }

  /** A command buffer in the caller's pool, of a queue. */
  long commands(long queue) {
    return send(queue, "commandBuffer");
  }

  void copy(long commands, long from, long fromOffset, long to, long toOffset, long size) {
    long encoder = send(commands, "blitCommandEncoder");
    send(
        encoder,
        "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:",
        from,
        fromOffset,
        to,
        toOffset,
        size);
    send(encoder, "endEncoding");
  }

  /** Commits and waits; how it ended. */
  long finish(long commands) {
    send(commands, "commit");
    send(commands, "waitUntilCompleted");
    return send(commands, "status");
  }

  /** What the compiler answers: a library or the text of an error. */
  record Compiled(long library, String error) {}

  /** Compiles without fast math. */
  Compiled compile(long device, String source) {
    long options = send(type("MTLCompileOptions"), "new");
    send(options, "setFastMathEnabled:", (byte) 0);
    Compiled compiled = compile(device, source, options);
    release(options);
    return compiled;
  }

  Compiled compile(long device, String source, long options) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment error = arena.allocate(JAVA_LONG);
      long text = string(source);
      long[] library = new long[1];
      String[] message = {""};
      pooled(
          () -> {
            library[0] = send(device, "newLibraryWithSource:options:error:", text, options, error);
            if (error.get(JAVA_LONG, 0) != 0) {
              message[0] = text(send(error.get(JAVA_LONG, 0), "localizedDescription"));
            }
          });
      release(text);
      return new Compiled(library[0], message[0]);
    }
  }

  /** A pipeline of a kernel of that name, compiled without fast math. */
  long pipeline(long device, String name, String source) {
    Compiled compiled = compile(device, source);
    if (compiled.library() == 0) {
      throw new AssertionError(compiled.error());
    }
    return pipeline(device, name, compiled.library());
  }

  /** A pipeline of a function of a library, which is released. */
  long pipeline(long device, String name, long library) {
    long text = string(name);
    long function = send(library, "newFunctionWithName:", text);
    long pipeline =
        send(device, "newComputePipelineStateWithFunction:error:", function, MemorySegment.NULL);
    release(text);
    release(function);
    release(library);
    return pipeline;
  }

  /** Encodes a launch of threads in one dimension, with buffers from index 0 on. */
  void launch(long commands, long pipeline, long threads, long inGroup, long... buffers) {
    long encoder = send(commands, "computeCommandEncoder");
    send(encoder, "setComputePipelineState:", pipeline);
    for (int i = 0; i < buffers.length; i++) {
      send(encoder, "setBuffer:offset:atIndex:", buffers[i], 0L, (long) i);
    }
    send(
        encoder,
        "dispatchThreads:threadsPerThreadgroup:",
        size(threads, 1, 1),
        size(inGroup, 1, 1));
    send(encoder, "endEncoding");
  }

  static byte[] pattern(int length) {
    byte[] bytes = new byte[length];
    for (int i = 0; i < length; i++) {
      bytes[i] = (byte) (i * 31 + 7);
    }
    return bytes;
  }

  static float[] floats(MemorySegment bytes) {
    return bytes.toArray(JAVA_FLOAT);
  }
}
