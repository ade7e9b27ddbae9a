package dev.tidepool.benchmarks;

import dev.tidepool.cpu.CpuDevice;
import dev.tidepool.pool.block.MemoryPool;
import dev.tidepool.pool.block.PoolLimits;
import dev.tidepool.pooling.EvictionPolicy;
import dev.tidepool.spi.Block;
import java.lang.foreign.Arena;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Measures what an empty pool adds to a driver call: a lease that misses, and the free of its
 * block, with a driver that costs nothing.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Measurement(iterations = 5, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Fork(1)
public class PoolMissBenchmark {
  private static final int BYTES = 1 << 20;

  private Arena arena;
  private Block block;
  private MemoryPool pool;

  /** Opens the pool, which keeps no blocks. */
  @Setup
  public void open() {
    arena = Arena.ofShared();
    // A block over foreign memory costs no driver call, and its free does nothing.
    block = new CpuDevice().adopt(arena.allocate(BYTES));
    pool =
        new MemoryPool(
            "benchmark",
            (bytes, alignment) -> block,
            new PoolLimits(true, 0, 0, 0, EvictionPolicy.LRU, false));
  }

  /** Closes the pool. */
  @TearDown
  public void close() {
    pool.close();
    if (pool.statistics().hits() > 0) {
      throw new IllegalStateException("the pool had idle blocks");
    }
    arena.close();
  }

  /** Acquires a block, which misses, and frees it. */
  @Benchmark
  public void miss() {
    pool.acquire(BYTES, 64).release();
  }
}
