package dev.tidepool.benchmarks;

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
import org.openjdk.jmh.annotations.Threads;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Takes an object from a pool and returns it, on one thread and on two. Compares other pools, and a
 * new object each time.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Measurement(iterations = 5, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Fork(1)
public class ObjectPoolBenchmark {
  private ObjectPoolPeers pools;

  /** Opens the pools. */
  @Setup
  public void open() {
    pools = new ObjectPoolPeers(10);
  }

  /** Closes the pools. */
  @TearDown
  public void close() throws InterruptedException {
    pools.close();
  }

  private static byte touch(byte[] array) {
    return ++array[0];
  }

  /** Bare objects, one thread. */
  @Benchmark
  @ComparedWith({"stormpot1", "stormpotForEver1", "commons1", "fast1", "plain1"})
  public byte tidepool1() {
    return pools.tidepool(ObjectPoolBenchmark::touch);
  }

  /** Bare objects, two threads. */
  @Benchmark
  @ComparedWith({"stormpot2", "stormpotForEver2", "commons2", "fast2", "plain2"})
  @Threads(2)
  public byte tidepool2() {
    return pools.tidepool(ObjectPoolBenchmark::touch);
  }

  /** Leases of objects, one thread. */
  @Benchmark
  @ComparedWith("stormpot1")
  public byte tidepoolLease1() {
    return pools.tidepoolLease(ObjectPoolBenchmark::touch);
  }

  /** Leases of objects, two threads. */
  @Benchmark
  @ComparedWith("stormpot2")
  @Threads(2)
  public byte tidepoolLease2() {
    return pools.tidepoolLease(ObjectPoolBenchmark::touch);
  }

  /** Stormpot with its defaults, under which objects expire, one thread. */
  @Benchmark
  public byte stormpot1() throws InterruptedException {
    return pools.stormpot(ObjectPoolBenchmark::touch);
  }

  /** Stormpot with its defaults, under which objects expire, two threads. */
  @Benchmark
  @Threads(2)
  public byte stormpot2() throws InterruptedException {
    return pools.stormpot(ObjectPoolBenchmark::touch);
  }

  /** Stormpot with objects that do not expire, one thread. */
  @Benchmark
  public byte stormpotForEver1() throws InterruptedException {
    return pools.stormpotForEver(ObjectPoolBenchmark::touch);
  }

  /** Stormpot with objects that do not expire, two threads. */
  @Benchmark
  @Threads(2)
  public byte stormpotForEver2() throws InterruptedException {
    return pools.stormpotForEver(ObjectPoolBenchmark::touch);
  }

  /** Commons Pool, one thread. */
  @Benchmark
  public byte commons1() throws Exception {
    return pools.commons(ObjectPoolBenchmark::touch);
  }

  /** Commons Pool, two threads. */
  @Benchmark
  @Threads(2)
  public byte commons2() throws Exception {
    return pools.commons(ObjectPoolBenchmark::touch);
  }

  /** Fast Object Pool, one thread. */
  @Benchmark
  public byte fast1() {
    return pools.fast(ObjectPoolBenchmark::touch);
  }

  /** Fast Object Pool, two threads. */
  @Benchmark
  @Threads(2)
  public byte fast2() {
    return pools.fast(ObjectPoolBenchmark::touch);
  }

  /** No pool, one thread. */
  @Benchmark
  public byte[] plain1() {
    return ObjectPoolPeers.create();
  }

  /** No pool, two threads. */
  @Benchmark
  @Threads(2)
  public byte[] plain2() {
    return ObjectPoolPeers.create();
  }
}
