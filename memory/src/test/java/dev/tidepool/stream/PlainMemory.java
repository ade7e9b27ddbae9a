package dev.tidepool.stream;

import dev.tidepool.Accelerator;
import dev.tidepool.AcceleratorKind;
import dev.tidepool.Arguments;
import dev.tidepool.Capability;
import dev.tidepool.ElementType;
import dev.tidepool.HostMapping;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MapMode;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.expression.jvm.CpuLoop;
import dev.tidepool.expression.syntax.ScalarType;
import dev.tidepool.expression.types.Expression;
import dev.tidepool.expression.types.Operand;
import dev.tidepool.expression.types.TypedProgram;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * A memory manager of a few lines, so that a pipeline can be watched and its memory made to run
 * out. It counts what is open and computes expressions in the calling thread; all that a pipeline
 * does not call is unsupported.
 */
final class PlainMemory {
  final AtomicInteger open = new AtomicInteger();
  final AtomicLong live = new AtomicLong();
  final AtomicLong peak = new AtomicLong();
  final AtomicInteger computing = new AtomicInteger();
  final Set<Long> lengths = ConcurrentHashMap.newKeySet();
  private final String id;
  private final long capacity;
  private final Set<Capability> capabilities;

  /** What every kernel does first. */
  volatile Runnable beforeKernels = () -> {};

  /** What every kernel fails with from now on; null for none. */
  volatile @Nullable RuntimeException failure;

  /** Elements that are computed before it fails. */
  volatile long elementsBeforeFailure;

  /** What the end of every mapping that reads fails with; null for nothing. */
  volatile @Nullable RuntimeException unmapping;

  final AtomicLong computed = new AtomicLong();

  /** Creates a manager with so many bytes of memory. */
  PlainMemory(long capacity, Capability... capabilities) {
    this("plain:0", capacity, capabilities);
  }

  /** Creates a manager of an accelerator of its own. */
  PlainMemory(String id, long capacity, Capability... capabilities) {
    this.id = id;
    this.capacity = capacity;
    this.capabilities = Set.of(capabilities);
  }

  UnifiedMemoryManager manager() {
    Accelerator accelerator =
        fake(
            Accelerator.class,
            (_, method, _) ->
                switch (method.getName()) {
                  case "capabilities" -> capabilities;
                  case "id", "name" -> id;
                  case "kind" -> AcceleratorKind.OTHER;
                  default -> throw new UnsupportedOperationException(method.getName());
                });
    return fake(
        UnifiedMemoryManager.class,
        (_, method, arguments) ->
            switch (method.getName()) {
              case "accelerator" -> accelerator;
              case "allocate" -> allocate((ElementType<?>) arguments[0], (long) arguments[1]);
              case "compile" -> kernel((KernelSource.Elementwise) arguments[0]);
              default -> throw new UnsupportedOperationException(method.getName());
            });
  }

  private UnifiedBuffer<?> allocate(ElementType<?> type, long length) {
    long bytes = type.bytes(length);
    long before = live.getAndUpdate(now -> now + bytes <= capacity ? now + bytes : now);
    if (before + bytes > capacity) {
      throw new OutOfDeviceMemoryException(
          "no room for " + bytes + " bytes", bytes, capacity - before, capacity, 0);
    }
    peak.accumulateAndGet(before + bytes, Math::max);
    open.incrementAndGet();
    AtomicInteger closes = new AtomicInteger();
    return buffer(
        type,
        Arena.ofAuto().allocate(bytes, 64),
        () -> {
          if (closes.getAndIncrement() == 0) {
            live.addAndGet(-bytes);
            open.decrementAndGet();
          }
        });
  }

  private UnifiedBuffer<?> buffer(ElementType<?> type, MemorySegment memory, Runnable end) {
    long width = type.byteSize();
    return fake(
        UnifiedBuffer.class,
        (_, method, arguments) ->
            switch (method.getName()) {
              case "elementType" -> type;
              case "length" -> memory.byteSize() / width;
              case "byteSize" -> memory.byteSize();
              case "as" -> buffer((ElementType<?>) arguments[0], memory, () -> {});
              case "asSegment" -> memory;
              case "slice" ->
                  buffer(
                      type,
                      memory.asSlice((long) arguments[0] * width, (long) arguments[1] * width),
                      () -> {});
              case "map" -> mapping(memory, (MapMode) arguments[0]);
              case "close" -> {
                end.run();
                yield null;
              }
              default -> throw new UnsupportedOperationException(method.getName());
            });
  }

  private HostMapping mapping(MemorySegment memory, MapMode mode) {
    return fake(
        HostMapping.class,
        (_, method, _) -> {
          if (method.getName().equals("segment")) {
            return mode.writes() ? memory : memory.asReadOnly();
          }
          RuntimeException broken = unmapping;
          if (broken != null && !mode.writes()) {
            throw broken;
          }
          return null;
        });
  }

  private record Compiled(TypedProgram program, CpuLoop loop) {}

  private Kernel kernel(KernelSource.Elementwise source) {
    Expression expression = Expression.parse(source.expression());
    Map<Map<String, Operand>, Compiled> compiled = new ConcurrentHashMap<>();
    return fake(
        Kernel.class,
        (_, method, arguments) -> {
          if (method.getName().equals("source")) {
            return source;
          }
          beforeKernels.run();
          RuntimeException broken = failure;
          if (broken != null && computed.get() >= elementsBeforeFailure) {
            throw broken;
          }
          computing.incrementAndGet();
          Map<String, Object> values = ((Arguments) arguments[0]).values();
          Map<String, Operand> operands = new LinkedHashMap<>();
          values.forEach((name, value) -> operands.put(name, operand(value)));
          execute(compiled.computeIfAbsent(operands, _ -> compile(expression, operands)), values);
          computing.decrementAndGet();
          return null;
        });
  }

  private static Compiled compile(Expression expression, Map<String, Operand> operands) {
    TypedProgram program = expression.resolve(operands);
    return new Compiled(program, CpuLoop.compile(program));
  }

  private void execute(Compiled compiled, Map<String, Object> arguments) {
    TypedProgram program = compiled.program();
    MemorySegment[] arrays = new MemorySegment[program.arrays().size()];
    long length = 0;
    for (int i = 0; i < arrays.length; i++) {
      UnifiedBuffer<?> buffer = (UnifiedBuffer<?>) arguments.get(program.arrays().get(i).name());
      arrays[i] = buffer.asSegment();
      length = buffer.length();
    }
    lengths.add(length);
    computed.addAndGet(length);
    compiled.loop().run(arrays, program.uniformValues(arguments), 0, length);
  }

  private static Operand operand(Object value) {
    return value instanceof UnifiedBuffer<?> buffer
        ? Operand.array(ScalarType.valueOf(NpyType.of(buffer.elementType()).name()))
        : Operand.scalar(value);
  }

  @SuppressWarnings("unchecked")
  private static <T> T fake(Class<?> type, InvocationHandler handler) {
    return (T) Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler);
  }
}
