package dev.tidepool.benchmarks;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import io.netty.buffer.AdaptiveByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.lang.foreign.MemorySegment;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Random allocations and frees among 100,000 live blocks of mixed sizes for each thread. Every
 * operation picks a place, and frees its block or allocates one. Each operation is timed
 * separately, including 20 to 30 ns for the clock. {@link Times} prints the percentiles of all
 * operations after each iteration, because JMH's samples overstate rare events. JMH's average
 * includes the clock twice.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class HolesBenchmark {
  private static final int PLACES = 200_000;
  private static final int SMALLEST_BITS = 8;
  private static final int LARGEST_BITS = 15;
  private static final long SEED = 42;

  /** Places for blocks, half of them occupied. */
  abstract static class Places<B> {
    private final Object[] blocks = new Object[PLACES];
    private final SplittableRandom random = new SplittableRandom(SEED);
    private final Times allocations = new Times();
    private final Times frees = new Times();

    abstract B allocate(int bytes);

    abstract void free(B block);

    void fill() {
      for (int place = 0; place < PLACES; place += 2) {
        blocks[place] = allocate(size());
      }
    }

    /** Returns a size from 256 bytes to 64 KiB, with equal probability for each power of two. */
    private int size() {
      int least = 1 << random.nextInt(SMALLEST_BITS, LARGEST_BITS + 1);
      return least + random.nextInt(least);
    }

    void change() {
      long start = System.nanoTime();
      int place = random.nextInt(PLACES);
      B block = at(place);
      if (block == null) {
        blocks[place] = allocate(size());
        allocations.add(System.nanoTime() - start);
      } else {
        blocks[place] = null;
        free(block);
        frees.add(System.nanoTime() - start);
      }
    }

    /** Prints the times of an iteration, and clears them. */
    @TearDown(Level.Iteration)
    public void print() {
      Times all = new Times();
      all.add(allocations);
      all.add(frees);
      System.out.printf(
          Locale.ROOT,
          "%nallocations: %s%nfrees:       %s%nall:         %s%n",
          allocations,
          frees,
          all);
      allocations.clear();
      frees.clear();
    }

    @SuppressWarnings("unchecked") // allocate is the only source of the elements
    private B at(int place) {
      return (B) blocks[place];
    }

    void empty() {
      for (int place = 0; place < PLACES; place++) {
        B block = at(place);
        if (block != null) {
          free(block);
        }
      }
    }
  }

  /** The manager of all threads. */
  @State(Scope.Benchmark)
  public static class Manager {
    private Tidepool tidepool;
    private UnifiedMemoryManager memory;

    /** Opens the CPU. */
    @Setup
    public void open() {
      tidepool = Tidepool.open();
      memory = tidepool.memory(tidepool.accelerator("cpu:0"));
    }

    /** Closes the session. */
    @TearDown
    public void close() {
      tidepool.close();
    }
  }

  /** The buffers of a thread. */
  @State(Scope.Thread)
  public static class Buffers extends Places<UnifiedBuffer<byte[]>> {
    private UnifiedMemoryManager memory;

    /** Allocates the buffers. */
    @Setup
    public void open(Manager manager) {
      memory = manager.memory;
      fill();
    }

    /** Frees the buffers. */
    @TearDown
    public void close() {
      empty();
    }

    @Override
    UnifiedBuffer<byte[]> allocate(int bytes) {
      return memory.allocate(ElementType.BYTE, bytes, MemoryLocation.HOST);
    }

    @Override
    void free(UnifiedBuffer<byte[]> buffer) {
      buffer.close();
    }
  }

  /** The blocks of a thread from Netty's default allocator. */
  @State(Scope.Thread)
  public static class NettyBuffers extends Places<ByteBuf> {
    private static final ByteBufAllocator ALLOCATOR = new AdaptiveByteBufAllocator();

    /** Allocates the blocks. */
    @Setup
    public void open() {
      fill();
    }

    /** Frees the blocks. */
    @TearDown
    public void close() {
      empty();
    }

    @Override
    ByteBuf allocate(int bytes) {
      return ALLOCATOR.directBuffer(bytes, bytes);
    }

    @Override
    void free(ByteBuf buffer) {
      buffer.release();
    }
  }

  /** The blocks of a thread from the C library. */
  @State(Scope.Thread)
  public static class MallocBlocks extends Places<MemorySegment> {
    /** Allocates the blocks. */
    @Setup
    public void open() {
      fill();
    }

    /** Frees the blocks. */
    @TearDown
    public void close() {
      empty();
    }

    @Override
    MemorySegment allocate(int bytes) {
      return SystemAllocator.malloc(bytes);
    }

    @Override
    void free(MemorySegment block) {
      SystemAllocator.free(block);
    }
  }

  /** Tidepool's pool. */
  @Benchmark
  @ComparedWith({"nettyAdaptive", "malloc"})
  public void pooled(Buffers buffers) {
    buffers.change();
  }

  /** Netty's default allocator. */
  @Benchmark
  public void nettyAdaptive(NettyBuffers buffers) {
    buffers.change();
  }

  /** The C library. */
  @Benchmark
  public void malloc(MallocBlocks blocks) {
    blocks.change();
  }

  /** The heap objects of a thread. */
  @State(Scope.Thread)
  public static class Objects extends Places<long[]> {
    private long sum;

    /** Allocates the objects. */
    @Setup
    public void open() {
      fill();
    }

    @Override
    long[] allocate(int bytes) {
      return new long[] {bytes};
    }

    @Override
    void free(long[] block) {
      sum += block[0];
    }
  }

  /** Measures the places alone, with small heap objects that are read when they are removed. */
  @Benchmark
  public long objects(Objects objects) {
    objects.change();
    return objects.sum;
  }
}
