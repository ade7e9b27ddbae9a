package dev.tidepool.benchmarks;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.WorkItem;
import java.lang.foreign.MemorySegment;
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
 * Java methods as kernels on {@code cpu:0}, compared with a plain parallel loop over arrays, a Java
 * body for each item, and an expression.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 7, time = 1)
@Fork(1)
public class MethodKernelBenchmark {
  private static final int ROWS = 200_000;
  private static final int DIMS = 128;
  private static final int ELEMENTS = 1 << 22;
  private static final int GROUP = 64;

  private final float[] rowArray = new float[ROWS * DIMS];
  private final float[] queryArray = new float[DIMS];
  private final float[] scoreArray = new float[ROWS];
  private final int[] intRowArray = new int[ROWS * DIMS];
  private final int[] intQueryArray = new int[DIMS];
  private final int[] intScoreArray = new int[ROWS];
  private Tidepool tidepool;
  private Arguments floats;
  private Arguments ints;
  private Arguments axpyArguments;
  private Arguments sumArguments;
  private Kernel dot;
  private Kernel dotOfItems;
  private Kernel intDot;
  private Kernel axpy;
  private Kernel expression;
  private Kernel sums;

  static void dot(WorkItem item, int dims, float[] rows, float[] query, float[] scores) {
    int row = (int) item.globalId(0);
    float sum = 0;
    for (int d = 0; d < dims; d++) {
      sum += rows[row * dims + d] * query[d];
    }
    scores[row] = sum;
  }

  static void intDot(WorkItem item, int dims, int[] rows, int[] query, int[] scores) {
    int row = (int) item.globalId(0);
    int sum = 0;
    for (int d = 0; d < dims; d++) {
      sum += rows[row * dims + d] * query[d];
    }
    scores[row] = sum;
  }

  static void axpy(int i, float a, float[] x, float[] y) {
    y[i] = a * x[i] + y[i];
  }

  /** Computes the sum of each group by repeated halving. */
  static void sums(WorkItem item, float[] x, float[] sums) {
    float[] tile = item.localFloats(GROUP);
    int local = (int) item.localId(0);
    tile[local] = x[(int) item.globalId(0)];
    item.barrier();
    for (int half = GROUP / 2; half > 0; half >>= 1) {
      if (local < half) {
        tile[local] += tile[local + half];
      }
      item.barrier();
    }
    if (local == 0) {
      sums[(int) item.groupId(0)] = tile[0];
    }
  }

  private static void dotOfItem(WorkItem item) {
    MemorySegment rows = item.array(1);
    MemorySegment query = item.array(2);
    int dims = (int) item.integer(0);
    long row = item.globalId(0);
    float sum = 0;
    for (int d = 0; d < dims; d++) {
      sum += rows.getAtIndex(JAVA_FLOAT, row * dims + d) * query.getAtIndex(JAVA_FLOAT, d);
    }
    item.array(3).setAtIndex(JAVA_FLOAT, row, sum);
  }

  /** Fills the arrays. */
  @Setup
  public void open() {
    for (int i = 0; i < rowArray.length; i++) {
      rowArray[i] = i % 7;
      intRowArray[i] = i % 7;
    }
    for (int i = 0; i < DIMS; i++) {
      queryArray[i] = i;
      intQueryArray[i] = i;
    }
    tidepool = Tidepool.open();
    UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("cpu:0"));
    MethodHandles.Lookup here = MethodHandles.lookup();
    floats =
        Arguments.of(
            "dims", DIMS,
            "rows", buffer(memory, ElementType.FLOAT, rowArray),
            "query", buffer(memory, ElementType.FLOAT, queryArray),
            "scores", buffer(memory, ElementType.FLOAT, scoreArray));
    ints =
        Arguments.of(
            "dims", DIMS,
            "rows", buffer(memory, ElementType.INT, intRowArray),
            "query", buffer(memory, ElementType.INT, intQueryArray),
            "scores", buffer(memory, ElementType.INT, intScoreArray));
    UnifiedBuffer<float[]> x = buffer(memory, ElementType.FLOAT, new float[ELEMENTS]);
    axpyArguments =
        Arguments.of("a", 0f, "x", x, "y", buffer(memory, ElementType.FLOAT, new float[ELEMENTS]));
    sumArguments =
        Arguments.of(
            "x", x, "sums", buffer(memory, ElementType.FLOAT, new float[ELEMENTS / GROUP]));
    dot = memory.compile(KernelSource.method(here, "dot"));
    intDot = memory.compile(KernelSource.method(here, "intDot"));
    axpy = memory.compile(KernelSource.method(here, "axpy"));
    sums = memory.compile(KernelSource.method(here, "sums"));
    expression = memory.compile(KernelSource.elementwise("y = a*x + y"));
    dotOfItems =
        memory.compile(
            KernelSource.java(
                MethodKernelBenchmark::dotOfItem,
                KernelParameter.scalar("dims", ElementType.INT),
                KernelParameter.in("rows", ElementType.FLOAT),
                KernelParameter.in("query", ElementType.FLOAT),
                KernelParameter.out("scores", ElementType.FLOAT)));
  }

  private static <A> UnifiedBuffer<A> buffer(
      UnifiedMemoryManager memory, ElementType<A> type, A array) {
    UnifiedBuffer<A> buffer = memory.allocate(type, type.length(array));
    buffer.copyFrom(array);
    return buffer;
  }

  /** Stops the threads, so that the fork can exit. */
  @TearDown
  public void close() {
    tidepool.close();
  }

  /** Runs the method as a kernel. */
  @Benchmark
  @ComparedWith("dotPlain")
  public void dotMethod() {
    dot.execute(floats, LaunchRange.of(ROWS));
  }

  /** Runs the code of the method in a parallel loop over arrays. */
  @Benchmark
  public void dotPlain() {
    int parts = 64;
    IntStream.range(0, parts)
        .parallel()
        .forEach(
            part -> {
              for (int row = part * (ROWS / parts); row < (part + 1) * (ROWS / parts); row++) {
                float sum = 0;
                for (int d = 0; d < DIMS; d++) {
                  sum += rowArray[row * DIMS + d] * queryArray[d];
                }
                scoreArray[row] = sum;
              }
            });
  }

  /** Calls a Java body for each item. */
  @Benchmark
  public void dotItems() {
    dotOfItems.execute(floats, LaunchRange.of(ROWS));
  }

  /** Runs the method for ints as a kernel. */
  @Benchmark
  @ComparedWith("intDotPlain")
  public void intDotMethod() {
    intDot.execute(ints, LaunchRange.of(ROWS));
  }

  /** Runs the code for ints in a parallel loop over arrays. */
  @Benchmark
  public void intDotPlain() {
    int parts = 64;
    IntStream.range(0, parts)
        .parallel()
        .forEach(
            part -> {
              for (int row = part * (ROWS / parts); row < (part + 1) * (ROWS / parts); row++) {
                int sum = 0;
                for (int d = 0; d < DIMS; d++) {
                  sum += intRowArray[row * DIMS + d] * intQueryArray[d];
                }
                intScoreArray[row] = sum;
              }
            });
  }

  /** Runs {@code y = a*x + y} as a method. */
  @Benchmark
  @ComparedWith("axpyExpression")
  public void axpyMethod() {
    axpy.execute(axpyArguments, LaunchRange.of(ELEMENTS));
  }

  /** Runs {@code y = a*x + y} as an expression. */
  @Benchmark
  public void axpyExpression() {
    expression.execute(axpyArguments);
  }

  /** Runs a kernel with seven barriers. */
  @Benchmark
  public void sumsOfGroups() {
    sums.execute(sumArguments, LaunchRange.of(ELEMENTS).inGroupsOf(GROUP));
  }
}
