package dev.tidepool.benchmarks;

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
import java.lang.invoke.MethodHandles;
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
 * Java methods as kernels on the first OpenCL device: a tiled matrix product, compared with two
 * hand-written kernels, and memory-bound kernels with and without index checks.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 4, time = 1)
@Measurement(iterations = 7, time = 1)
@Fork(1)
public class MethodKernelOpenClBenchmark {
  private static final int TILE = TiledProduct.TILE;
  private static final int N = 256;
  private static final int ROWS = 200_000;
  private static final int DIMS = 128;
  private static final int ELEMENTS = 1 << 24;
  private static final LaunchRange SQUARE = LaunchRange.of(N, N).inGroupsOf(TILE, TILE);

  /** Tiles as two-dimensional arrays, as in most textbooks. */
  private static final String SQUARES =
      """
      kernel void tiled(int n, global const float* a, global const float* b, global float* c) {
        local float tileA[16][16];
        local float tileB[16][16];
        int column = get_global_id(0), row = get_global_id(1);
        int x = get_local_id(0), y = get_local_id(1);
        float sum = 0;
        for (int t = 0; t < n; t += 16) {
          tileA[y][x] = a[row * n + t + x];
          tileB[y][x] = b[(t + y) * n + column];
          barrier(CLK_LOCAL_MEM_FENCE);
          for (int k = 0; k < 16; k++) sum += tileA[y][k] * tileB[k][x];
          barrier(CLK_LOCAL_MEM_FENCE);
        }
        c[row * n + column] = sum;
      }
      """;

  /** Flat tiles, moving pointers, and a group size that the compiler knows. */
  private static final String POINTERS =
      """
      kernel __attribute__((reqd_work_group_size(16, 16, 1)))
      void tiled(int n, global const float* a, global const float* b, global float* c) {
        local float tileA[256];
        local float tileB[256];
        const int x = get_local_id(0), y = get_local_id(1);
        const int column = get_group_id(0) * 16 + x, row = get_group_id(1) * 16 + y;
        global const float* fromA = a + row * n + x;
        global const float* fromB = b + y * n + column;
        float sum = 0;
        for (int t = 0; t < n; t += 16, fromA += 16, fromB += 16 * n) {
          tileA[y * 16 + x] = *fromA;
          tileB[y * 16 + x] = *fromB;
          barrier(CLK_LOCAL_MEM_FENCE);
          #pragma unroll
          for (int k = 0; k < 16; k++) sum += tileA[y * 16 + k] * tileB[k * 16 + x];
          barrier(CLK_LOCAL_MEM_FENCE);
        }
        c[row * n + column] = sum;
      }
      """;

  private Tidepool tidepool;
  private Arguments square;
  private Arguments dotArguments;
  private Arguments axpyArguments;
  private Kernel tiled;
  private Kernel squares;
  private Kernel pointers;
  private Kernel dot;
  private Kernel uncheckedDot;
  private Kernel axpy;
  private Kernel uncheckedAxpy;

  static void dot(WorkItem item, int dims, float[] rows, float[] query, float[] scores) {
    int row = (int) item.globalId(0);
    float sum = 0;
    for (int d = 0; d < dims; d++) {
      sum += rows[row * dims + d] * query[d];
    }
    scores[row] = sum;
  }

  static void axpy(int i, float a, float[] x, float[] y) {
    y[i] = a * x[i] + y[i];
  }

  /** Compiles all kernels. */
  @Setup
  public void open() {
    tidepool = Tidepool.open();
    UnifiedMemoryManager memory = tidepool.memory(Machines.openCl(tidepool));
    MethodHandles.Lookup here = MethodHandles.lookup();
    square =
        Arguments.of(
            "n", N,
            "a", filled(memory, N * N),
            "b", filled(memory, N * N),
            "c", filled(memory, N * N));
    dotArguments =
        Arguments.of(
            "dims", DIMS,
            "rows", filled(memory, ROWS * DIMS),
            "query", filled(memory, DIMS),
            "scores", filled(memory, ROWS));
    axpyArguments =
        Arguments.of("a", 1f, "x", filled(memory, ELEMENTS), "y", filled(memory, ELEMENTS));
    tiled = memory.compile(KernelSource.method(TiledProduct.class, "tiled"));
    squares = memory.compile(byHand(SQUARES));
    pointers = memory.compile(byHand(POINTERS));
    dot = memory.compile(KernelSource.method(here, "dot"));
    uncheckedDot = memory.compile(KernelSource.method(here, "dot").unchecked());
    axpy = memory.compile(KernelSource.method(here, "axpy"));
    uncheckedAxpy = memory.compile(KernelSource.method(here, "axpy").unchecked());
  }

  private static KernelSource byHand(String source) {
    return KernelSource.opencl(
        source,
        "tiled",
        KernelParameter.scalar("n", ElementType.INT),
        KernelParameter.in("a", ElementType.FLOAT),
        KernelParameter.in("b", ElementType.FLOAT),
        KernelParameter.out("c", ElementType.FLOAT));
  }

  private static UnifiedBuffer<float[]> filled(UnifiedMemoryManager memory, int length) {
    float[] values = new float[length];
    for (int i = 0; i < length; i++) {
      values[i] = i % 7;
    }
    return memory.copyOf(values);
  }

  /** Stops the device's threads. */
  @TearDown
  public void close() {
    tidepool.close();
  }

  /** Runs the method. */
  @Benchmark
  @ComparedWith({"tiledSquares", "tiledPointers"})
  public void tiledMethod() {
    tiled.execute(square, SQUARE);
  }

  /** Runs the hand-written kernel with two-dimensional tiles. */
  @Benchmark
  public void tiledSquares() {
    squares.execute(square, SQUARE);
  }

  /** Runs the hand-written kernel with pointers. */
  @Benchmark
  public void tiledPointers() {
    pointers.execute(square, SQUARE);
  }

  /** Computes the products of rows and a query, with index checks. */
  @Benchmark
  @ComparedWith("dotUnchecked")
  public void dotChecked() {
    dot.execute(dotArguments, LaunchRange.of(ROWS));
  }

  /** Computes the products of rows and a query, without index checks. */
  @Benchmark
  public void dotUnchecked() {
    uncheckedDot.execute(dotArguments, LaunchRange.of(ROWS));
  }

  /** Computes {@code y = a*x + y} with index checks. */
  @Benchmark
  @ComparedWith("axpyUnchecked")
  public void axpyChecked() {
    axpy.execute(axpyArguments);
  }

  /** Computes {@code y = a*x + y} without index checks. */
  @Benchmark
  public void axpyUnchecked() {
    uncheckedAxpy.execute(axpyArguments);
  }
}
