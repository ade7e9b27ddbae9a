package dev.tidepool.benchmarks;

import dev.tidepool.ElementType;
import dev.tidepool.pooling.ArrayPool;
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
import org.openjdk.jmh.annotations.Threads;
import org.openjdk.jmh.annotations.Warmup;

/** Rents a float array from a pool and returns it, or creates a new one. It is not written. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Measurement(iterations = 5, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Fork(1)
public class ArrayPoolBenchmark {
  /** The size of an array. */
  @Param({"1", "64", "1024"})
  public int kib;

  private int length;
  private ArrayPool<float[]> pool;
  private ArrayPool<float[]> clearing;

  /** Opens the pools. */
  @Setup
  public void open() {
    length = kib * 256;
    pool = ArrayPool.create(ElementType.FLOAT);
    clearing = ArrayPool.create(ElementType.FLOAT, 64L << 20, ArrayPool.Clearing.ON_RENT);
  }

  /** Closes the pools. */
  @TearDown
  public void close() {
    pool.close();
    clearing.close();
  }

  private static float pair(ArrayPool<float[]> pool, int length) {
    float[] array = pool.rent(length);
    float first = array[0];
    pool.giveBack(array);
    return first;
  }

  /** Rents an array with its old contents, on one thread. */
  @Benchmark
  @ComparedWith("plain1")
  public float pooled1() {
    return pair(pool, length);
  }

  /** Rents an array with its old contents, on two threads. */
  @Benchmark
  @ComparedWith("plain2")
  @Threads(2)
  public float pooled2() {
    return pair(pool, length);
  }

  /** Rents a cleared array, on one thread. */
  @Benchmark
  @ComparedWith("plain1")
  public float cleared1() {
    return pair(clearing, length);
  }

  /** Rents a cleared array, on two threads. */
  @Benchmark
  @ComparedWith("plain2")
  @Threads(2)
  public float cleared2() {
    return pair(clearing, length);
  }

  /** Creates an array, on one thread. */
  @Benchmark
  public float[] plain1() {
    return new float[length];
  }

  /** Creates an array, on two threads. */
  @Benchmark
  @Threads(2)
  public float[] plain2() {
    return new float[length];
  }
}
