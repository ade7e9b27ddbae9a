package dev.tidepool.benchmarks;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import io.netty.buffer.AdaptiveByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.PooledByteBufAllocator;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.arrow.memory.ArrowBuf;
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
 * Typical uses of a host buffer: allocate, write, read and close it, and copy to and from a
 * long-lived one. Netty and Arrow do the same for comparison. With {@code -t 2} each thread has its
 * own buffers, except the {@code shared} one.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Measurement(iterations = 5, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Fork(1)
public class UsedBufferBenchmark {
  /** The size of a buffer. */
  @Param("1024")
  public int bytes;

  private Tidepool tidepool;
  private UnifiedMemoryManager memory;
  private ByteBufAllocator adaptive;
  private ByteBufAllocator nettyPooled;
  private BufferAllocator arrow;
  private UnifiedBuffer<byte[]> shared;

  /** The state of one thread. */
  @State(Scope.Thread)
  public static class Own {
    private byte[] array;
    private UnifiedBuffer<byte[]> inUse;
    private ByteBuf nettyInUse;
    private MemorySegment segment;
    private final AtomicLong counter = new AtomicLong();

    /** Allocates the long-lived buffers. */
    @Setup
    public void allocate(UsedBufferBenchmark all) {
      array = new byte[all.bytes];
      inUse = all.memory.allocate(ElementType.BYTE, all.bytes, MemoryLocation.HOST);
      nettyInUse = all.adaptive.directBuffer(all.bytes, all.bytes);
      segment = inUse.asSegment();
    }

    /** Closes the buffers. */
    @TearDown
    public void close() {
      inUse.close();
      nettyInUse.release();
    }
  }

  /** Opens the CPU and the peers. */
  @Setup
  public void open() {
    tidepool = Tidepool.open();
    memory = tidepool.memory(tidepool.accelerator("cpu:0"));
    adaptive = new AdaptiveByteBufAllocator();
    nettyPooled = new PooledByteBufAllocator(true);
    arrow = new RootAllocator();
    shared = memory.allocate(ElementType.BYTE, bytes, MemoryLocation.HOST);
  }

  /** Closes the CPU and the peers. */
  @TearDown
  public void close() {
    shared.close();
    arrow.close();
    tidepool.close();
  }

  /** Allocates and closes a buffer without using it. */
  @Benchmark
  public void allocateClose() {
    memory.allocate(ElementType.BYTE, bytes, MemoryLocation.HOST).close();
  }

  /** Allocates, writes and closes a buffer: the most important row. */
  @Benchmark
  @ComparedWith({
    "allocateWriteCloseNettyAdaptive",
    "allocateWriteCloseNettyPooled",
    "allocateWriteCloseArrow"
  })
  public void allocateWriteClose(Own own) {
    try (UnifiedBuffer<byte[]> buffer =
        memory.allocate(ElementType.BYTE, bytes, MemoryLocation.HOST)) {
      buffer.copyFrom(own.array);
    }
  }

  /** Netty's default allocator. */
  @Benchmark
  public void allocateWriteCloseNettyAdaptive(Own own) {
    ByteBuf buffer = adaptive.directBuffer(bytes, bytes);
    buffer.setBytes(0, own.array);
    buffer.release();
  }

  /** Netty's older allocator, with caches for each thread. */
  @Benchmark
  public void allocateWriteCloseNettyPooled(Own own) {
    ByteBuf buffer = nettyPooled.directBuffer(bytes, bytes);
    buffer.setBytes(0, own.array);
    buffer.release();
  }

  /** Uses Arrow's allocator. */
  @Benchmark
  public void allocateWriteCloseArrow(Own own) {
    try (ArrowBuf buffer = arrow.buffer(bytes)) {
      buffer.setBytes(0, own.array);
    }
  }

  /** Allocates, writes, reads and closes a buffer. */
  @Benchmark
  @ComparedWith("allocateWriteReadCloseNettyAdaptive")
  public void allocateWriteReadClose(Own own) {
    try (UnifiedBuffer<byte[]> buffer =
        memory.allocate(ElementType.BYTE, bytes, MemoryLocation.HOST)) {
      buffer.copyFrom(own.array);
      buffer.copyTo(own.array);
    }
  }

  /** Like {@link #allocateWriteReadClose}, but with Netty. */
  @Benchmark
  public void allocateWriteReadCloseNettyAdaptive(Own own) {
    ByteBuf buffer = adaptive.directBuffer(bytes, bytes);
    buffer.setBytes(0, own.array);
    buffer.getBytes(0, own.array);
    buffer.release();
  }

  /** Allocates a buffer, writes to its segment, and closes it. */
  @Benchmark
  @ComparedWith("allocateWriteCloseNettyAdaptive")
  public void allocateSegmentClose(Own own) {
    try (UnifiedBuffer<byte[]> buffer =
        memory.allocate(ElementType.BYTE, bytes, MemoryLocation.HOST)) {
      MemorySegment.copy(own.array, 0, buffer.asSegment(), ValueLayout.JAVA_BYTE, 0, bytes);
    }
  }

  /** Writes to a long-lived buffer. */
  @Benchmark
  @ComparedWith({"writeNetty", "writeBare"})
  public void write(Own own) {
    own.inUse.copyFrom(own.array);
  }

  /** Reads from a long-lived buffer. */
  @Benchmark
  public void read(Own own) {
    own.inUse.copyTo(own.array);
  }

  /** Copies without a buffer. */
  @Benchmark
  public void writeBare(Own own) {
    MemorySegment.copy(own.array, 0, own.segment, ValueLayout.JAVA_BYTE, 0, bytes);
  }

  /** Writes to a long-lived buffer of Netty. */
  @Benchmark
  public void writeNetty(Own own) {
    own.nettyInUse.setBytes(0, own.array);
  }

  /** Writes to one buffer from all threads. */
  @Benchmark
  public void writeShared(Own own) {
    shared.copyFrom(own.array);
  }

  /** Measures threads that share nothing: an object, the copy, and six atomic additions. */
  @Benchmark
  public Object control(Own own) {
    for (int i = 0; i < 6; i++) {
      own.counter.getAndIncrement();
    }
    MemorySegment.copy(own.array, 0, own.segment, ValueLayout.JAVA_BYTE, 0, bytes);
    return new Object();
  }
}
