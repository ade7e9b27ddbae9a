package dev.tidepool.cli;

import dev.tidepool.Accelerator;
import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryLocation;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.support.FailureText;
import java.io.PrintStream;
import java.util.Optional;
import java.util.function.IntToLongFunction;
import java.util.function.LongConsumer;

/**
 * Measures how fast an accelerator moves bytes, by the size of a buffer, and how long a call takes
 * that moves only a few bytes. Every figure is the best of the runs that fit a tenth of a second,
 * at least three. On CUDA, rows of the bare driver follow the library's rows. The driver moves as
 * many bytes from pinned memory by one command and a wait.
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

  /** An operation that moves bytes. */
  private interface Movement {
    /** Runs the operation once, with buffers and an array of one size. */
    void run(UnifiedBuffer<float[]> x, UnifiedBuffer<float[]> y, float[] array);
  }

  /** The text for a movement of some bytes in some time. */
  private interface Figure {
    String of(long bytes, long nanos);
  }

  /**
   * Measures and prints all rows.
   *
   * @param kernels whether to include a kernel, which needs a compiler
   */
  void print(boolean kernels) {
    Optional<BareCuda> driver = bareDriver();
    try {
      rows("bandwidth", LARGE, Figures::rate, driver, kernels);
      rows("latency", SMALL, (_, nanos) -> Figures.time(nanos), driver, kernels);
    } finally {
      driver.ifPresent(BareCuda::close);
    }
  }

  /** Opens the bare driver if its blocks fit beside the library's; else prints the reason. */
  private Optional<BareCuda> bareDriver() {
    int largest = LARGE[LARGE.length - 1];
    String id = memory.accelerator().id();
    if (!BareCuda.drives(id)) {
      return Optional.empty();
    }
    try {
      if (!fits(largest)) {
        throw new UnsupportedOperationException(
            id + " is too small for blocks of " + Figures.bytes(largest));
      }
      return Optional.of(BareCuda.open(id, largest));
    } catch (UnsupportedOperationException why) {
      out.println("  WITHOUT THE BARE DRIVER: " + FailureText.of(why));
      return Optional.empty();
    }
  }

  private void rows(
      String title, int[] sizes, Figure figure, Optional<BareCuda> driver, boolean kernels) {
    StringBuilder head = new StringBuilder(padded("  " + title));
    for (int size : sizes) {
      head.append(right(Figures.bytes(size)));
    }
    out.println(head);
    MemoryLocation device = MemoryLocation.DEVICE;
    MemoryLocation pinned = MemoryLocation.PINNED;
    row("array to device", sizes, figure, 1, device, (x, _, array) -> x.copyFrom(array));
    row("device to array", sizes, figure, 1, device, (x, _, array) -> x.copyTo(array));
    driver.ifPresent(
        bare -> {
          row("pinned to device", sizes, figure, 1, pinned, (x, y, _) -> x.copyFrom(y));
          bareRow(sizes, figure, 1, bytes -> bare.hostToDevice(bytes, 1));
          row("device to pinned", sizes, figure, 1, pinned, (x, y, _) -> y.copyFrom(x));
          bareRow(sizes, figure, 1, bytes -> bare.deviceToHost(bytes, 1));
        });
    row("device to device", sizes, figure, 2, device, (x, y, _) -> y.copyFrom(x));
    driver.ifPresent(bare -> bareRow(sizes, figure, 2, bytes -> bare.deviceToDevice(bytes, 1)));
    row("fill", sizes, figure, 1, device, (x, _, _) -> x.fill((byte) 0));
    driver.ifPresent(bare -> bareRow(sizes, figure, 1, bare::fill));
    if (kernels) {
      row(
          "kernel y = 2*x + 1",
          sizes,
          figure,
          2,
          device,
          (x, y, _) -> kernel.execute(Arguments.of("x", x, "y", y)));
    }
  }

  /**
   * Measures and prints one row.
   *
   * @param passes how often the bytes are read or written in the device's memory
   * @param location the location of the second buffer; the first is on the device
   */
  private void row(
      String name,
      int[] sizes,
      Figure figure,
      int passes,
      MemoryLocation location,
      Movement movement) {
    row(name, sizes, figure, passes, size -> best(size, location, movement));
  }

  private void bareRow(int[] sizes, Figure figure, int passes, LongConsumer movement) {
    row("  bare driver", sizes, figure, passes, size -> best(() -> movement.accept(size)));
  }

  private void row(String name, int[] sizes, Figure figure, int passes, IntToLongFunction nanos) {
    StringBuilder row = new StringBuilder(padded("    " + name));
    for (int size : sizes) {
      row.append(
          right(
              fits(size) ? figure.of((long) passes * size, nanos.applyAsLong(size)) : "too large"));
    }
    out.println(row);
  }

  private boolean fits(int size) {
    Accelerator accelerator = memory.accelerator();
    return size <= accelerator.maximumAllocation()
        && 4L * size <= accelerator.memory().totalBytes();
  }

  private long best(int size, MemoryLocation location, Movement movement) {
    int length = size / Float.BYTES;
    float[] array = new float[length];
    try (UnifiedBuffer<float[]> x = memory.allocate(ElementType.FLOAT, length);
        UnifiedBuffer<float[]> y = memory.allocate(ElementType.FLOAT, length, location)) {
      x.copyFrom(array);
      y.copyFrom(array);
      return best(() -> movement.run(x, y, array));
    }
  }

  /** Returns the nanoseconds of the best run. */
  private static long best(Runnable run) {
    long best = Long.MAX_VALUE;
    long begin = System.nanoTime();
    for (int i = 0; i < FEWEST_RUNS || System.nanoTime() - begin < PATIENCE_NANOS; i++) {
      long start = System.nanoTime();
      run.run();
      best = Math.min(best, System.nanoTime() - start);
    }
    return best;
  }

  private static String padded(String text) {
    return text + " ".repeat(Math.max(0, LABEL - text.length()));
  }

  private static String right(String text) {
    return " ".repeat(Math.max(1, CELL - text.length())) + text;
  }
}
