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

/** A float array from the pool and back, beside a new one each time. Nothing is written to it. */
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

  /** Closes them. */
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

  /** As the last holder left it, one thread. */
  @Benchmark
  @ComparedWith("plain1")
  public float pooled1() {
    return pair(pool, length);
  }

  /** As the last holder left it, two threads. */
  @Benchmark
  @ComparedWith("plain2")
  @Threads(2)
  public float pooled2() {
    return pair(pool, length);
  }

  /** Zeros, as a new one has, one thread. */
  @Benchmark
  @ComparedWith("plain1")
  public float cleared1() {
    return pair(clearing, length);
  }

  /** Zeros, as a new one has, two threads. */
  @Benchmark
  @ComparedWith("plain2")
  @Threads(2)
  public float cleared2() {
    return pair(clearing, length);
  }

  /** A new one, one thread. */
  @Benchmark
  public float[] plain1() {
    return new float[length];
  }

  /** A new one, two threads. */
  @Benchmark
  @Threads(2)
  public float[] plain2() {
    return new float[length];
  }
}
