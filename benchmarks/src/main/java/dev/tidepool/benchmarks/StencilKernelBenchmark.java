package dev.tidepool.benchmarks;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.WorkItem;
import java.lang.invoke.MethodHandles;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
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
 * A blur of 3 x 3 pixels as a Java method on {@code cpu:0}, compared with the same code in a
 * parallel loop over the rows. The borders are handled by a condition for each neighbour, by
 * clamped indices, or by one condition around all loads.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 7, time = 1)
@Fork(1)
public class StencilKernelBenchmark {
  // Not constants, so that the plain loop is compiled for any size, like the kernel.
  private int width = 2000;
  private int height = 1500;

  /** How the borders are handled. */
  @Param({"conditions", "keptInside", "inside"})
  public String borders;

  private final float[] in = new float[width * height];
  private final float[] out = new float[width * height];
  private Tidepool tidepool;
  private Kernel kernel;
  private Arguments arguments;

  private static int kept(int i, int n) {
    return Math.max(0, Math.min(i, n - 1));
  }

  static void conditions(WorkItem item, int width, int height, float[] in, float[] out) {
    int x = (int) item.globalId(0);
    int y = (int) item.globalId(1);
    float sum = 0;
    int n = 0;
    for (int dy = -1; dy <= 1; dy++) {
      for (int dx = -1; dx <= 1; dx++) {
        int column = x + dx;
        int row = y + dy;
        if (column >= 0 && column < width && row >= 0 && row < height) {
          sum += in[row * width + column];
          n++;
        }
      }
    }
    out[y * width + x] = sum / n;
  }

  static void keptInside(WorkItem item, int width, int height, float[] in, float[] out) {
    int x = (int) item.globalId(0);
    int y = (int) item.globalId(1);
    float sum = 0;
    for (int dy = -1; dy <= 1; dy++) {
      int row = kept(y + dy, height) * width;
      for (int dx = -1; dx <= 1; dx++) {
        sum += in[row + kept(x + dx, width)];
      }
    }
    out[y * width + x] = sum / 9;
  }

  static void inside(WorkItem item, int width, int height, float[] in, float[] out) {
    int x = (int) item.globalId(0);
    int y = (int) item.globalId(1);
    int at = y * width + x;
    float sum = 0;
    if (x > 0 && y > 0 && x < width - 1 && y < height - 1) {
      for (int dy = -1; dy <= 1; dy++) {
        for (int dx = -1; dx <= 1; dx++) {
          sum += in[at + dy * width + dx];
        }
      }
    }
    out[at] = sum / 9;
  }

  private static void rowConditions(int y, int width, int height, float[] in, float[] out) {
    for (int x = 0; x < width; x++) {
      float sum = 0;
      int n = 0;
      for (int dy = -1; dy <= 1; dy++) {
        for (int dx = -1; dx <= 1; dx++) {
          int column = x + dx;
          int row = y + dy;
          if (column >= 0 && column < width && row >= 0 && row < height) {
            sum += in[row * width + column];
            n++;
          }
        }
      }
      out[y * width + x] = sum / n;
    }
  }

  private static void rowKeptInside(int y, int width, int height, float[] in, float[] out) {
    for (int x = 0; x < width; x++) {
      float sum = 0;
      for (int dy = -1; dy <= 1; dy++) {
        int row = kept(y + dy, height) * width;
        for (int dx = -1; dx <= 1; dx++) {
          sum += in[row + kept(x + dx, width)];
        }
      }
      out[y * width + x] = sum / 9;
    }
  }

  private static void rowInside(int y, int width, int height, float[] in, float[] out) {
    for (int x = 0; x < width; x++) {
      int at = y * width + x;
      float sum = 0;
      if (x > 0 && y > 0 && x < width - 1 && y < height - 1) {
        for (int dy = -1; dy <= 1; dy++) {
          for (int dx = -1; dx <= 1; dx++) {
            sum += in[at + dy * width + dx];
          }
        }
      }
      out[at] = sum / 9;
    }
  }

  /** Fills the arrays. */
  @Setup
  public void open() {
    Random random = new Random(1);
    for (int i = 0; i < in.length; i++) {
      in[i] = random.nextFloat();
    }
    tidepool = Tidepool.open();
    UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("cpu:0"));
    kernel = memory.compile(KernelSource.method(MethodHandles.lookup(), borders));
    arguments =
        Arguments.of(
            "width",
            width,
            "height",
            height,
            "in",
            memory.copyOf(in),
            "out",
            memory.allocate(ElementType.FLOAT, out.length));
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
    kernel.execute(arguments, LaunchRange.of(width, height));
  }

  /** Runs a parallel loop over the rows. */
  @Benchmark
  public void plain() {
    IntStream rows = IntStream.range(0, height).parallel();
    switch (borders) {
      case "conditions" -> rows.forEach(y -> rowConditions(y, width, height, in, out));
      case "keptInside" -> rows.forEach(y -> rowKeptInside(y, width, height, in, out));
      default -> rows.forEach(y -> rowInside(y, width, height, in, out));
    }
  }
}
