package dev.tidepool.benchmarks;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedMemoryManager;
import java.lang.invoke.MethodHandles;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
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
 * Products of 4 x 4 matrices on {@code cpu:0}: a Java method with 144 accesses after unrolling, and
 * the same code in a parallel loop over arrays.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 7, time = 1)
@Fork(1)
public class LongKernelBenchmark {
  private static final int PRODUCTS = 1 << 18;
  private static final int ELEMENTS = PRODUCTS * 16;

  private final float[] left = new float[ELEMENTS];
  private final float[] right = new float[ELEMENTS];
  private final float[] result = new float[ELEMENTS];
  private Tidepool tidepool;
  private Kernel kernel;
  private Arguments arguments;

  static void product(int i, float[] left, float[] right, float[] result) {
    int at = i * 16;
    for (int row = 0; row < 4; row++) {
      for (int column = 0; column < 4; column++) {
        float sum = 0;
        for (int k = 0; k < 4; k++) {
          sum += left[at + row * 4 + k] * right[at + k * 4 + column];
        }
        result[at + row * 4 + column] = sum;
      }
    }
  }

  /** Fills the matrices. */
  @Setup
  public void open() {
    for (int i = 0; i < ELEMENTS; i++) {
      left[i] = i % 7;
      right[i] = i % 5;
    }
    tidepool = Tidepool.open();
    UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("cpu:0"));
    kernel = memory.compile(KernelSource.method(MethodHandles.lookup(), "product"));
    arguments =
        Arguments.of(
            "left", memory.copyOf(left),
            "right", memory.copyOf(right),
            "result", memory.allocate(ElementType.FLOAT, ELEMENTS));
  }

  /** Stops the threads, so that the fork can exit. */
  @TearDown
  public void close() {
    tidepool.close();
  }

  /** Runs the method as a kernel. */
  @Benchmark
  @ComparedWith("plain")
  public void method() {
    kernel.execute(arguments, LaunchRange.of(PRODUCTS));
  }

  /** Calls the method in a parallel loop. */
  @Benchmark
  public void plain() {
    IntStream.range(0, PRODUCTS).parallel().forEach(i -> product(i, left, right, result));
  }
}
