package dev.tidepool.benchmarks;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import io.netty.buffer.AdaptiveByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
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
 * Allocates a host buffer and writes it once, with one exception by the same loop. A pool saves the
 * page faults, which occur at the first use.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Measurement(iterations = 5, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Fork(1)
public class HostWriteBenchmark {
  private static final byte VALUE = 42;

  /** The size of a buffer. */
  @Param({"1", "64"})
  public int mib;

  private int bytes;
  private Tidepool tidepool;
  private UnifiedMemoryManager memory;
  private ByteBufAllocator adaptive;

  /** Opens the CPU and the peer. */
  @Setup
  public void open() {
    bytes = mib << 20;
    tidepool = Tidepool.open();
    memory = tidepool.memory(tidepool.accelerator("cpu:0"));
    adaptive = new AdaptiveByteBufAllocator();
  }

  /** Closes the session. */
  @TearDown
  public void close() {
    tidepool.close();
  }

  /** Allocates from the pool, writes, and returns the block. */
  @Benchmark
  @ComparedWith({"malloc", "arena", "hugePages", "nettyAdaptive"})
  public void pooled() {
    try (UnifiedBuffer<byte[]> buffer =
        memory.allocate(ElementType.BYTE, bytes, MemoryLocation.HOST)) {
      buffer.asSegment().fill(VALUE);
    }
  }

  /** Allocates from the pool, writes by the buffer's own fill, and returns the block. */
  @Benchmark
  public void pooledFill() {
    try (UnifiedBuffer<byte[]> buffer =
        memory.allocate(ElementType.BYTE, bytes, MemoryLocation.HOST)) {
      buffer.fill(VALUE);
    }
  }

  /** The C library. */
  @Benchmark
  public void malloc() {
    MemorySegment block = SystemAllocator.malloc(bytes);
    block.fill(VALUE);
    SystemAllocator.free(block);
  }

  /** Java's arena, which clears its segment first. */
  @Benchmark
  public void arena() {
    try (Arena arena = Arena.ofConfined()) {
      arena.allocate(bytes, 64).fill(VALUE);
    }
  }

  /** Fresh huge pages of the system. */
  @Benchmark
  public void hugePages() {
    MemorySegment memory = SystemAllocator.mapHuge(bytes);
    memory.fill(VALUE);
    SystemAllocator.unmap(memory);
  }

  /** Netty's default allocator. */
  @Benchmark
  public boolean nettyAdaptive() {
    ByteBuf buffer = adaptive.directBuffer(bytes, bytes);
    MemorySegment.ofBuffer(buffer.internalNioBuffer(0, bytes)).fill(VALUE);
    return buffer.release();
  }
}
