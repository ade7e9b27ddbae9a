package dev.tidepool.cli;

import dev.tidepool.Accelerator;
import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.io.PrintStream;

/**
 * How fast an accelerator moves bytes, by the size of a buffer, and how long it takes for a few of
 * them, from the call to its return. Every figure is the best of as many runs as fit a tenth of a
 * second.
 */
final class BandwidthTable {
  private static final int[] LARGE = {64 << 10, 1 << 20, 16 << 20, 64 << 20};
  private static final int[] SMALL = {4, 1 << 10, 4 << 10, 16 << 10};
  private static final long PATIENCE_NANOS = 100_000_000;
  private static final int FEWEST_RUNS = 3;
  private static final int LABEL = 30;
  private static final int CELL = 12;

  private final UnifiedMemoryManager memory;
  private final Kernel kernel;
  private final PrintStream out;

  BandwidthTable(UnifiedMemoryManager memory, PrintStream out) {
    this.memory = memory;
    this.kernel = memory.compile(KernelSource.elementwise("y = 2*x + 1"));
    this.out = out;
  }

  /** Something that moves bytes. */
  private interface Movement {
    /** Does it once with buffers and an array of one size. */
    void run(UnifiedBuffer<float[]> x, UnifiedBuffer<float[]> y, float[] array);
  }

  /** What is said of a movement of so many bytes that took so long. */
  private interface Figure {
    String of(long bytes, long nanos);
  }

  /** Measures and prints all rows. */
  void print() {
    rows("bandwidth", LARGE, Figures::rate);
    rows("latency", SMALL, (_, nanos) -> Figures.time(nanos));
  }

  private void rows(String title, int[] sizes, Figure figure) {
    StringBuilder head = new StringBuilder(padded("  " + title, LABEL));
    for (int size : sizes) {
      head.append(right(Figures.bytes(size)));
    }
    out.println(head);
    row("array to device", sizes, figure, 1, (x, _, array) -> x.copyFrom(array));
    row("device to array", sizes, figure, 1, (x, _, array) -> x.copyTo(array));
    row("device to device", sizes, figure, 2, (x, y, _) -> y.copyFrom(x));
    row("fill", sizes, figure, 1, (x, _, _) -> x.fill((byte) 0));
    row(
        "kernel y = 2*x + 1",
        sizes,
        figure,
        2,
        (x, y, _) -> kernel.execute(Arguments.of("x", x, "y", y)));
  }

  /**
   * One row.
   *
   * @param passes how often the size is read or written in the device's memory
   */
  private void row(String name, int[] sizes, Figure figure, int passes, Movement movement) {
    StringBuilder row = new StringBuilder(padded("    " + name, LABEL));
    for (int size : sizes) {
      row.append(
          right(fits(size) ? figure.of((long) passes * size, best(size, movement)) : "too large"));
    }
    out.println(row);
  }

  private boolean fits(int size) {
    Accelerator accelerator = memory.accelerator();
    return size <= accelerator.maximumAllocation()
        && 4L * size <= accelerator.memory().totalBytes();
  }

  /** Nanoseconds of the best run. */
  private long best(int size, Movement movement) {
    int length = size / Float.BYTES;
    float[] array = new float[length];
    try (UnifiedBuffer<float[]> x = memory.allocate(ElementType.FLOAT, length);
        UnifiedBuffer<float[]> y = memory.allocate(ElementType.FLOAT, length)) {
      x.copyFrom(array);
      y.copyFrom(array);
      long best = Long.MAX_VALUE;
      long begin = System.nanoTime();
      for (int i = 0; i < FEWEST_RUNS || System.nanoTime() - begin < PATIENCE_NANOS; i++) {
        long start = System.nanoTime();
        movement.run(x, y, array);
        best = Math.min(best, System.nanoTime() - start);
      }
      return best;
    }
  }

  private static String padded(String text, int width) {
    return text + " ".repeat(Math.max(0, width - text.length()));
  }

  private static String right(String text) {
    return " ".repeat(Math.max(1, CELL - text.length())) + text;
  }
}
