package dev.tidepool.benchmarks;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.tidepool.ElementType;
import dev.tidepool.host.MemoryAllocator;
import dev.tidepool.host.MemoryOperations;
import dev.tidepool.spi.Block;
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

/**
 * Operations on memory of each thread, compared with the C library. {@code memcpyLikeX} moves as
 * many bytes as the conversion {@code X} reads and writes.
 *
 * <p>Use JMH's option {@code -t 2} for two threads.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class MemoryOperationsBenchmark {
  private static final Linker LINKER = Linker.nativeLinker();
  private static final MethodHandle MEMCPY =
      LINKER.downcallHandle(
          LINKER.defaultLookup().findOrThrow("memcpy"),
          FunctionDescriptor.of(ADDRESS, ADDRESS, ADDRESS, JAVA_LONG));
  private static final MethodHandle MEMSET =
      LINKER.downcallHandle(
          LINKER.defaultLookup().findOrThrow("memset"),
          FunctionDescriptor.of(ADDRESS, ADDRESS, JAVA_INT, JAVA_LONG));

  @Param("64")
  public int mebibytes;

  private Block sourceBlock;
  private Block targetBlock;
  private MemorySegment source;
  private MemorySegment target;
  private MemorySegment half;
  private MemorySegment quarter;

  @Setup
  public void allocate() {
    long bytes = (long) mebibytes << 20;
    MemoryAllocator allocator = new MemoryAllocator();
    sourceBlock = allocator.allocate(bytes);
    targetBlock = allocator.allocate(bytes);
    source = sourceBlock.segment();
    target = targetBlock.segment();
    half = source.asSlice(0, bytes / 2);
    quarter = source.asSlice(0, bytes / 4);
    source.fill((byte) 1);
    target.fill((byte) 2);
  }

  @TearDown
  public void free() {
    sourceBlock.free();
    targetBlock.free();
  }

  @Benchmark
  @ComparedWith("memcpy")
  public void copy() {
    MemoryOperations.copy(source, target);
  }

  @Benchmark
  public MemorySegment memcpy() throws Throwable {
    return (MemorySegment) MEMCPY.invokeExact(target, source, source.byteSize());
  }

  @Benchmark
  @ComparedWith("memset")
  public void fill() {
    MemoryOperations.fill(target, (byte) 3);
  }

  @Benchmark
  @ComparedWith("memset")
  public void fillLongs() {
    MemoryOperations.fill(target, 0x0123456789abcdefL);
  }

  @Benchmark
  public MemorySegment memset() throws Throwable {
    return (MemorySegment) MEMSET.invokeExact(target, 3, target.byteSize());
  }

  @Benchmark
  @ComparedWith("memcpy")
  public void intToFloat() {
    MemoryOperations.convert(ElementType.INT, source, ElementType.FLOAT, target);
  }

  @Benchmark
  @ComparedWith("memcpyLikeFloatToDouble")
  public void floatToDouble() {
    MemoryOperations.convert(ElementType.FLOAT, half, ElementType.DOUBLE, target);
  }

  @Benchmark
  @ComparedWith("memcpyLikeFloatToDouble")
  public void doubleToFloat() {
    MemoryOperations.convert(
        ElementType.DOUBLE, source, ElementType.FLOAT, target.asSlice(0, half.byteSize()));
  }

  /** Copies three quarters of the bytes of {@link #memcpy}, as many as these conversions move. */
  @Benchmark
  public MemorySegment memcpyLikeFloatToDouble() throws Throwable {
    return (MemorySegment) MEMCPY.invokeExact(target, source, source.byteSize() / 4 * 3);
  }

  @Benchmark
  @ComparedWith("memcpyLikeByteToFloat")
  public void byteToFloat() {
    MemoryOperations.convert(ElementType.BYTE, quarter, ElementType.FLOAT, target);
  }

  /** Copies five eighths of the bytes of {@link #memcpy}, as many as this conversion moves. */
  @Benchmark
  public MemorySegment memcpyLikeByteToFloat() throws Throwable {
    return (MemorySegment) MEMCPY.invokeExact(target, source, source.byteSize() / 8 * 5);
  }

  @Benchmark
  @ComparedWith("memcpy")
  public void swapInts() {
    MemoryOperations.swapBytes(4, source, target);
  }

  @Benchmark
  public double sumOfFloats() {
    return MemoryOperations.sum(ElementType.FLOAT, source);
  }

  @Benchmark
  public double dotOfDoubles() {
    return MemoryOperations.dot(ElementType.DOUBLE, source, target);
  }

  @Benchmark
  public void field() {
    MemoryOperations.readField(source, 16, 4, 4, target);
  }
}
