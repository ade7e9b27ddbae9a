package dev.tidepool.benchmarks;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * A hundred virtual threads on two carriers take an object from a pool and return it. Each yields
 * while it holds the object. The times include the start of the threads and the yields, which the
 * row without a pool shows.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Measurement(iterations = 5, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Fork(value = 1, jvmArgsAppend = "-Djdk.virtualThreadScheduler.parallelism=2")
@OperationsPerInvocation(
    ObjectPoolVirtualThreadsBenchmark.THREADS * ObjectPoolVirtualThreadsBenchmark.TURNS)
public class ObjectPoolVirtualThreadsBenchmark {
  static final int THREADS = 100;
  static final int TURNS = 100;

  private ObjectPoolPeers pools;

  /** Opens the pools, with an object for each thread. */
  @Setup
  public void open() {
    pools = new ObjectPoolPeers(THREADS);
  }

  /** Closes the pools. */
  @TearDown
  public void close() throws InterruptedException {
    pools.close();
  }

  private interface Turn {
    byte take() throws Exception;
  }

  private static void run(Turn turn) throws InterruptedException {
    List<Thread> threads = new ArrayList<>();
    for (int t = 0; t < THREADS; t++) {
      threads.add(
          Thread.startVirtualThread(
              () -> {
                try {
                  for (int i = 0; i < TURNS; i++) {
                    turn.take();
                  }
                } catch (Exception e) {
                  throw new IllegalStateException(e);
                }
              }));
    }
    for (Thread thread : threads) {
      thread.join();
    }
  }

  private static byte letOthersRun(byte[] array) {
    Thread.yield();
    return ++array[0];
  }

  /** Bare objects. */
  @Benchmark
  @ComparedWith({"stormpot", "stormpotForVirtual", "commons", "fast", "plain"})
  public void tidepool() throws InterruptedException {
    run(() -> pools.tidepool(ObjectPoolVirtualThreadsBenchmark::letOthersRun));
  }

  /** Leases of objects. */
  @Benchmark
  public void tidepoolLease() throws InterruptedException {
    run(() -> pools.tidepoolLease(ObjectPoolVirtualThreadsBenchmark::letOthersRun));
  }

  /** Stormpot with its defaults. */
  @Benchmark
  public void stormpot() throws InterruptedException {
    run(() -> pools.stormpot(ObjectPoolVirtualThreadsBenchmark::letOthersRun));
  }

  /** Stormpot's tap for virtual threads. */
  @Benchmark
  public void stormpotForVirtual() throws InterruptedException {
    run(() -> pools.stormpotForVirtual(ObjectPoolVirtualThreadsBenchmark::letOthersRun));
  }

  /** Commons Pool. */
  @Benchmark
  public void commons() throws InterruptedException {
    run(() -> pools.commons(ObjectPoolVirtualThreadsBenchmark::letOthersRun));
  }

  /** Fast Object Pool. */
  @Benchmark
  public void fast() throws InterruptedException {
    run(() -> pools.fast(ObjectPoolVirtualThreadsBenchmark::letOthersRun));
  }

  /** No pool. */
  @Benchmark
  public void plain() throws InterruptedException {
    run(() -> letOthersRun(ObjectPoolPeers.create()));
  }
}
