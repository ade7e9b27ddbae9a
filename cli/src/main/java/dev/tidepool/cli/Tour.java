package dev.tidepool.cli;

import dev.tidepool.Accelerator;
import dev.tidepool.Allocation;
import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.HostMapping;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryStatistics;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.transfer.TransferStatistics;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * The demo on one accelerator. Each exhibit measures something and, in the same way, what a program
 * would do without it; the best of a few runs counts, on both sides.
 */
final class Tour {
  private static final int MOST_ELEMENTS = 16 << 20;
  private static final int RUNS = 8;
  private static final int LONG_RUNS = 2;
  private static final int KERNELS_IN_A_ROW = 10;
  private static final int ALLOCATIONS = 500;
  private static final long ALLOCATED_BYTES = 1 << 20;
  private static final int LOOKS = 100_000;
  private static final int PIECE = 1024;
  private static final float A = 0.5f;
  private static final ValueLayout.OfFloat FLOATS = ValueLayout.JAVA_FLOAT_UNALIGNED;

  private final UnifiedMemoryManager memory;
  private final TimeTable table;
  private final Kernel kernel;
  private final int elements;
  private final float[] x;
  private final float[] y;

  Tour(UnifiedMemoryManager memory, TimeTable table) {
    this.memory = memory;
    this.table = table;
    this.kernel = memory.compile(KernelSource.elementwise("y = a*x + y"));
    this.elements = elements(memory.accelerator());
    this.x = new float[elements];
    this.y = new float[elements];
    for (int i = 0; i < elements; i++) {
      x[i] = i % 1009;
      y[i] = i % 1013;
    }
  }

  /** As many as leave room on a small device. */
  private static int elements(Accelerator accelerator) {
    long room = Math.min(accelerator.memory().freeBytes() / 8, accelerator.maximumAllocation());
    return (int) Math.min(MOST_ELEMENTS, room / Float.BYTES);
  }

  /** Shows all exhibits; answers whether every result was right. */
  boolean run() {
    Accelerator accelerator = memory.accelerator();
    table.title(accelerator.id() + "  " + accelerator.name());
    table.columns();
    boolean right;
    try (UnifiedBuffer<float[]> xs = memory.copyOf(x);
        UnifiedBuffer<float[]> ys = memory.copyOf(y)) {
      right = verify(xs, ys);
      oneKernel(xs, ys);
      kernelsInARow(xs, ys);
      lookAgain(ys);
      changeAPart(xs, ys);
      handOver(xs);
    }
    allocate();
    table.verdict(
        right,
        right
            ? "verified: all " + Figures.count(elements) + " results equal plain Java's"
            : "WRONG: results differ from plain Java's");
    table.line("");
    return right;
  }

  private boolean verify(UnifiedBuffer<float[]> xs, UnifiedBuffer<float[]> ys) {
    execute(xs, ys);
    float[] computed = new float[elements];
    ys.copyTo(computed);
    for (int i = 0; i < elements; i++) {
      float product = A * x[i];
      if (computed[i] != product + y[i]) {
        return false;
      }
    }
    return true;
  }

  private void execute(Object xs, Object ys) {
    kernel.execute(Arguments.of("a", A, "x", xs, "y", ys));
  }

  private void oneKernel(UnifiedBuffer<float[]> xs, UnifiedBuffer<float[]> ys) {
    long bytes = 3L * elements * Float.BYTES;
    double ours = best(() -> execute(xs, ys));
    double naive = best(this::javaLoop);
    table.times("y = a*x + y, " + Figures.bytes(bytes), ours, naive, "Java loop");
    table.amounts("", Figures.rate(bytes, ours), Figures.rate(bytes, naive), "");
  }

  private void javaLoop() {
    for (int i = 0; i < elements; i++) {
      y[i] = A * x[i] + y[i];
    }
  }

  private void kernelsInARow(UnifiedBuffer<float[]> xs, UnifiedBuffer<float[]> ys) {
    String what = KERNELS_IN_A_ROW + " kernels on the same data";
    long before = moved();
    double ours = best(LONG_RUNS, () -> repeat(KERNELS_IN_A_ROW, () -> execute(xs, ys)));
    long between = moved();
    double naive = best(LONG_RUNS, () -> repeat(KERNELS_IN_A_ROW, () -> execute(x, y)));
    long after = moved();
    table.times(what, ours, naive, "all copied");
    movedRow((between - before) / LONG_RUNS, (after - between) / LONG_RUNS);
  }

  private void lookAgain(UnifiedBuffer<float[]> ys) {
    float[] copy = new float[elements];
    long last = (elements - 1L) * Float.BYTES;
    double[] sum = new double[1];
    double looks =
        best(() -> repeat(LOOKS, () -> sum[0] += ys.asReadOnlySegment().get(FLOATS, last)));
    double naive = best(() -> ys.copyTo(copy));
    table.times("look at the result again", looks / LOOKS, naive, "copied out");
    if (Double.isNaN(sum[0])) {
      throw new IllegalStateException("the result is no number");
    }
  }

  private void changeAPart(UnifiedBuffer<float[]> xs, UnifiedBuffer<float[]> ys) {
    xs.prefetchToHost();
    execute(xs, ys);
    long before = moved();
    double ours =
        best(
            () -> {
              overwriteMiddle(xs);
              execute(xs, ys);
            });
    long between = moved();
    double naive =
        best(
            () -> {
              xs.copyFrom(x);
              execute(xs, ys);
            });
    long after = moved();
    table.times("change 1% of x, compute again", ours, naive, "copy all x");
    movedRow((between - before) / RUNS, (after - between) / RUNS);
  }

  private void overwriteMiddle(UnifiedBuffer<float[]> xs) {
    int part = Math.max(1, elements / 100);
    try (UnifiedBuffer<float[]> slice = xs.slice(elements / 2, part);
        HostMapping mapping = slice.map(MapMode.WRITE)) {
      MemorySegment.copy(x, 0, mapping.segment(), FLOATS, 0, part);
    }
  }

  private void handOver(UnifiedBuffer<float[]> xs) {
    double ours = best(() -> xs.copyFrom(x));
    double naive =
        best(
            () -> {
              for (int at = 0; at < elements; at += PIECE) {
                xs.copyFrom(x, at, at, Math.min(PIECE, elements - at));
              }
            });
    table.times(Figures.bytes(xs.byteSize()) + " from an array", ours, naive, "4 KiB each");
    table.amounts("", Figures.rate(xs.byteSize(), ours), Figures.rate(xs.byteSize(), naive), "");
  }

  private void allocate() {
    Allocation pooled = Allocation.at(MemoryLocation.DEVICE);
    Allocation unpooled = pooled.unpooled();
    repeat(ALLOCATIONS, () -> allocateAndFree(pooled));
    repeat(ALLOCATIONS / 10, () -> allocateAndFree(unpooled));
    long before = memory.statistics().driverAllocations();
    double ours = nanos(() -> repeat(ALLOCATIONS, () -> allocateAndFree(pooled)));
    MemoryStatistics pool = memory.statistics();
    double naive = nanos(() -> repeat(ALLOCATIONS, () -> allocateAndFree(unpooled)));
    long after = memory.statistics().driverAllocations();
    table.times(
        "allocate, fill, free " + Figures.bytes(ALLOCATED_BYTES),
        ours / ALLOCATIONS,
        naive / ALLOCATIONS,
        "no pool");
    table.amounts(
        "  driver calls for " + Figures.count(ALLOCATIONS),
        Figures.count(pool.driverAllocations() - before),
        Figures.count(after - pool.driverAllocations()),
        "");
    table.amounts(
        "  served by the pool so far", Figures.decimal(100 * pool.hitRate(), 1) + "%", "none", "");
  }

  private void allocateAndFree(Allocation allocation) {
    // Filled, because a system gives memory for real when it is touched.
    try (UnifiedBuffer<byte[]> buffer =
        memory.allocate(ElementType.BYTE, ALLOCATED_BYTES, allocation)) {
      buffer.fill((byte) 1);
    }
  }

  private void movedRow(long ours, long naive) {
    if (naive > 0) {
      table.amounts(
          "  bytes moved to and from the device", Figures.bytes(ours), Figures.bytes(naive), "");
    }
  }

  private long moved() {
    TransferStatistics moved = memory.transfers().statistics();
    return moved.hostToDeviceBytes() + moved.deviceToHostBytes();
  }

  private static void repeat(int times, Runnable action) {
    for (int i = 0; i < times; i++) {
      action.run();
    }
  }

  private static double best(Runnable action) {
    return best(RUNS, action);
  }

  private static double best(int runs, Runnable action) {
    double best = Double.MAX_VALUE;
    for (int i = 0; i < runs; i++) {
      best = Math.min(best, nanos(action));
    }
    return best;
  }

  private static double nanos(Runnable action) {
    long start = System.nanoTime();
    action.run();
    return (double) (System.nanoTime() - start);
  }
}
