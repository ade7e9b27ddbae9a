package dev.tidepool.cli;

import dev.tidepool.Accelerator;
import dev.tidepool.Allocation;
import dev.tidepool.Arguments;
import dev.tidepool.Capability;
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
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * The demo on one accelerator. Each exhibit measures Tidepool and a plain Java alternative: loops
 * over arrays, memory of an {@link Arena}, plain copies. On both sides the best of a few runs
 * counts. Allocations are timed as in {@code tidepool bench}.
 */
final class Tour {
  static final String SLOWER_THAN_ON_ARRAYS = "the copies of arrays cost little beside the kernels";

  private static final String SLOWER_THAN_ALL =
      "the kernel takes most of the time, and computes all of x in both";

  private static final int MOST_ELEMENTS = 16 << 20;
  private static final int RUNS = 8;
  private static final int LONG_RUNS = 2;
  private static final int KERNELS_IN_A_ROW = 10;
  private static final int ALLOCATIONS = 500;
  private static final long ALLOCATED_BYTES = 1 << 20;
  private static final long WARM_UP_BYTES = 4 << 10;
  private static final long WARM_UP_NANOS = 200_000_000;
  private static final int LOOKS = 100_000;

  /** Fewer looks where each is a transfer. */
  private static final int FEW_LOOKS = 100;

  private static final float A = 0.5f;
  private static final ValueLayout.OfFloat FLOATS = ValueLayout.JAVA_FLOAT_UNALIGNED;

  private final UnifiedMemoryManager memory;
  private final TimeTable table;
  private final Kernel kernel;
  private final boolean sharesMemory;
  private final int elements;
  private final float[] x;
  private final float[] y;

  Tour(UnifiedMemoryManager memory, TimeTable table) {
    this.memory = memory;
    this.table = table;
    this.kernel = memory.compile(KernelSource.elementwise("y = a*x + y"));
    this.elements = elements(memory.accelerator());
    this.sharesMemory = memory.accelerator().capabilities().contains(Capability.SHARED_MEMORY);
    this.x = new float[elements];
    this.y = new float[elements];
    for (int i = 0; i < elements; i++) {
      x[i] = i % 1009;
      y[i] = i % 1013;
    }
    // Compiles for the device before the first line is printed, because the driver may log.
    kernel.execute(Arguments.of("a", A, "x", new float[1], "y", new float[1]));
  }

  /** Returns the number of elements, reduced for a small device. */
  private static int elements(Accelerator accelerator) {
    long room = Math.min(accelerator.memory().freeBytes() / 8, accelerator.maximumAllocation());
    return (int) Math.min(MOST_ELEMENTS, room / Float.BYTES);
  }

  /** Shows all exhibits and returns whether every result was correct. */
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
    double loop = best(this::javaLoop);
    table.times(
        "y = a*x + y, " + Figures.bytes(bytes),
        ours,
        loop,
        "Java loop",
        slowerThanALoop(memory.accelerator()));
    table.amounts("", Figures.rate(bytes, ours), Figures.rate(bytes, loop));
  }

  /** Returns the reason why one elementwise kernel may take longer than a loop over arrays. */
  static String slowerThanALoop(Accelerator accelerator) {
    return accelerator.capabilities().contains(Capability.JAVA_KERNELS)
        ? "Java vectorises loops over arrays; a kernel copies blocks to them"
        : "one pass over memory, which bounds the loop as well";
  }

  /** Returns the reason why allocating and filling a buffer may take longer than using an arena. */
  static String slowerThanAFill(Accelerator accelerator) {
    return accelerator.capabilities().contains(Capability.JAVA_KERNELS)
        ? "the fill takes most of the time, and waits its turn on the buffer"
        : "this device fills by a command, which costs a round trip";
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
    double arrays = best(LONG_RUNS, () -> repeat(KERNELS_IN_A_ROW, () -> execute(x, y)));
    long after = moved();
    table.times(what, ours, arrays, "on arrays", SLOWER_THAN_ON_ARRAYS);
    movedRow((between - before) / LONG_RUNS, (after - between) / LONG_RUNS);
  }

  private void lookAgain(UnifiedBuffer<float[]> ys) {
    long last = elements - 1L;
    double[] sum = new double[1];
    float[] one = new float[1];
    double looks =
        best(
            () ->
                repeat(
                    LOOKS, () -> sum[0] += ys.asReadOnlySegment().get(FLOATS, last * Float.BYTES)));
    double copies =
        best(
            () ->
                repeat(
                    sharesMemory ? LOOKS : FEW_LOOKS,
                    () -> {
                      ys.copyTo(last, one, 0, 1);
                      sum[0] += one[0];
                    }));
    table.times(
        "look at one result",
        looks / LOOKS,
        copies / (sharesMemory ? LOOKS : FEW_LOOKS),
        "copied out",
        "a view of all bytes costs a check of their state");
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
    double all =
        best(
            () -> {
              xs.copyFrom(x);
              execute(xs, ys);
            });
    long after = moved();
    table.times("change 1% of x, compute again", ours, all, "copy all x", SLOWER_THAN_ALL);
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
    double bare;
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment host = arena.allocate(xs.byteSize(), 64);
      bare = best(() -> MemorySegment.copy(x, 0, host, FLOATS, 0, elements));
    }
    table.times(
        Figures.bytes(xs.byteSize()) + " from an array",
        ours,
        bare,
        "bare copy",
        sharesMemory
            ? "the copy waits for its turn behind earlier work on the buffer"
            : "the bytes go on from the host's memory to the device");
    table.amounts("", Figures.rate(xs.byteSize(), ours), Figures.rate(xs.byteSize(), bare));
  }

  private void allocate() {
    Allocation pooled = Allocation.at(MemoryLocation.DEVICE);
    Allocation unpooled = pooled.unpooled();
    // Programs that allocate often run compiled code. The launcher delays compilation, so the
    // warm-up needs many runs. They use few bytes to be short.
    warmUp(() -> allocateAndFree(WARM_UP_BYTES, pooled));
    if (sharesMemory) {
      warmUp(() -> arena(WARM_UP_BYTES));
    }
    PairedTimes times =
        PairedTimes.measure(
            1,
            () -> allocateAndFree(ALLOCATED_BYTES, pooled),
            sharesMemory
                ? () -> arena(ALLOCATED_BYTES)
                : () -> allocateAndFree(ALLOCATED_BYTES, unpooled));
    long before = memory.statistics().driverAllocations();
    repeat(ALLOCATIONS, () -> allocateAndFree(ALLOCATED_BYTES, pooled));
    MemoryStatistics pool = memory.statistics();
    table.times(
        "allocate, fill, free " + Figures.bytes(ALLOCATED_BYTES),
        times.nanos(),
        times.otherNanos(),
        sharesMemory ? "an arena" : "no pool",
        slowerThanAFill(memory.accelerator()));
    table.amounts(
        "  driver calls for " + Figures.count(ALLOCATIONS),
        Figures.count(pool.driverAllocations() - before),
        Figures.count(ALLOCATIONS));
    table.amounts(
        "  served by the pool so far", Figures.decimal(100 * pool.hitRate(), 1) + "%", "none");
  }

  private void allocateAndFree(long bytes, Allocation allocation) {
    // Filled, because a system maps pages only when they are touched.
    try (UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, bytes, allocation)) {
      buffer.fill((byte) 1);
    }
  }

  /** Allocates memory of an arena, fills it, and frees it. */
  static void arena(long bytes) {
    try (Arena arena = Arena.ofConfined()) {
      arena.allocate(bytes, 64).fill((byte) 1);
    }
  }

  private void movedRow(long ours, long otherwise) {
    if (otherwise > 0) {
      table.amounts(
          "  bytes moved to and from the device", Figures.bytes(ours), Figures.bytes(otherwise));
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

  private static void warmUp(Runnable action) {
    long start = System.nanoTime();
    while (System.nanoTime() - start < WARM_UP_NANOS) {
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
