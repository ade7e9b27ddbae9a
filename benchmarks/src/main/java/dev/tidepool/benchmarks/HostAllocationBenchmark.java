package dev.tidepool.benchmarks;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedMemoryManager;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/** A host buffer from the pool and back, beside the C library's allocator and Java's own arena. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Measurement(iterations = 5, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Fork(1)
public class HostAllocationBenchmark {
  private static final Linker LINKER = Linker.nativeLinker();
  private static final MethodHandle MALLOC =
      LINKER.downcallHandle(
          LINKER.defaultLookup().findOrThrow("malloc"), FunctionDescriptor.of(ADDRESS, JAVA_LONG));
  private static final MethodHandle FREE =
      LINKER.downcallHandle(
          LINKER.defaultLookup().findOrThrow("free"), FunctionDescriptor.ofVoid(ADDRESS));

  /** The size of a buffer. */
  @Param({"1", "64", "1024"})
  public int kib;

  private long bytes;
  private Tidepool tidepool;
  private UnifiedMemoryManager memory;

  /** Opens the CPU. */
  @Setup
  public void open() {
    bytes = (long) kib << 10;
    tidepool = Tidepool.open();
    memory = tidepool.memory(tidepool.accelerator("cpu:0"));
  }

  /** Closes it. */
  @TearDown
  public void close() {
    tidepool.close();
  }

  /** From the pool and back. */
  @Benchmark
  public void pooled() {
    memory.allocate(ElementType.BYTE, bytes, MemoryLocation.HOST).close();
  }

  /** The C library, by a plain downcall each; the memory is not touched. */
  @Benchmark
  public void malloc() throws Throwable {
    MemorySegment block = (MemorySegment) MALLOC.invokeExact(bytes);
    FREE.invokeExact(block);
  }

  /** A confined arena with one segment, which it clears. */
  @Benchmark
  public long arena() {
    try (Arena arena = Arena.ofConfined()) {
      return arena.allocate(bytes, 64).address();
    }
  }
}
