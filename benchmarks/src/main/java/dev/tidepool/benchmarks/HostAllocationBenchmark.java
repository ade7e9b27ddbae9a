package dev.tidepool.benchmarks;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedMemoryManager;
import io.netty.buffer.AdaptiveByteBufAllocator;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.PooledByteBufAllocator;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.TimeUnit;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
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
 * Allocates and closes a host buffer from the pool. Compares it with Netty's allocators with leak
 * detection, Arrow's allocator, the C library and Java's arena. Only the arena touches the memory.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Measurement(iterations = 5, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Fork(1)
public class HostAllocationBenchmark {
  /** The size of a buffer. */
  @Param({"1", "64", "1024", "65536"})
  public int kib;

  private int bytes;
  private Tidepool tidepool;
  private UnifiedMemoryManager memory;
  private ByteBufAllocator adaptive;
  private ByteBufAllocator nettyPooled;
  private BufferAllocator arrow;

  /** Opens the CPU and the peers. */
  @Setup
  public void open() {
    bytes = kib << 10;
    tidepool = Tidepool.open();
    memory = tidepool.memory(tidepool.accelerator("cpu:0"));
    adaptive = new AdaptiveByteBufAllocator();
    nettyPooled = new PooledByteBufAllocator(true);
    arrow = new RootAllocator();
  }

  /** Closes the CPU and the peers. */
  @TearDown
  public void close() {
    arrow.close();
    tidepool.close();
  }

  /** Allocates from the pool, and returns the block. */
  @Benchmark
  @ComparedWith({"malloc", "arena", "nettyAdaptive", "nettyPooled", "arrow"})
  public void pooled() {
    memory.allocate(ElementType.BYTE, bytes, MemoryLocation.HOST).close();
  }

  /** Netty's default allocator. */
  @Benchmark
  public boolean nettyAdaptive() {
    return adaptive.directBuffer(bytes, bytes).release();
  }

  /** Netty's older allocator, with caches for each thread. */
  @Benchmark
  public boolean nettyPooled() {
    return nettyPooled.directBuffer(bytes, bytes).release();
  }

  /** Arrow's allocator, based on Unsafe. */
  @Benchmark
  public void arrow() {
    arrow.buffer(bytes).close();
  }

  /** The C library, by plain downcalls. */
  @Benchmark
  public void malloc() {
    MemorySegment block = SystemAllocator.malloc(bytes);
    SystemAllocator.free(block);
  }

  /** A confined arena with one segment, which the arena clears. */
  @Benchmark
  public long arena() {
    try (Arena arena = Arena.ofConfined()) {
      return arena.allocate(bytes, 64).address();
    }
  }
}
