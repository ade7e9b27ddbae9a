package dev.tidepool.cli;

import dev.tidepool.Accelerator;
import dev.tidepool.Allocation;
import dev.tidepool.Arguments;
import dev.tidepool.Capability;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryLocation;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.support.FailureText;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionException;

/** The figures of {@code tidepool bench}: each compares a feature with the same work without it. */
final class QuickFigures {
  private static final int MOST_ELEMENTS = 4 << 20;
  private static final int[] POOLED_BYTES = {64 << 10, 1 << 20, 16 << 20};

  /** Allocations that are timed together, because a single one is too short. */
  private static final int ALLOCATIONS = 100;

  private final UnifiedMemoryManager memory;
  private final boolean sharesMemory;
  private final List<UnifiedMemoryManager> others;
  private final TimeTable table;
  private final int elements;
  private final List<Row> rows = new ArrayList<>();
  private final List<String> absent = new ArrayList<>();
  private String part = "";

  /**
   * Creates the figures of one accelerator.
   *
   * @param others the managers of further accelerators, for copies between them
   */
  QuickFigures(UnifiedMemoryManager memory, List<UnifiedMemoryManager> others, TimeTable table) {
    this.memory = memory;
    this.others = others;
    this.table = table;
    Accelerator accelerator = memory.accelerator();
    this.sharesMemory = accelerator.capabilities().contains(Capability.SHARED_MEMORY);
    long room = Math.min(accelerator.memory().freeBytes() / 16, accelerator.maximumAllocation());
    this.elements = (int) Math.min(MOST_ELEMENTS, room / Float.BYTES);
  }

  /**
   * The times of two ways to do the same work.
   *
   * @param part the part of the table
   * @param other the way that Tidepool is compared with
   */
  record Row(String part, String what, double nanos, String other, double otherNanos) {}

  /**
   * The measurements of a device.
   *
   * @param absent the rows that could not be measured, with reasons
   */
  record Report(String device, String name, String driver, List<Row> rows, List<String> absent) {}

  Report run() {
    Accelerator accelerator = memory.accelerator();
    table.title(accelerator.id() + "  " + accelerator.name());
    pool();
    transfers();
    kernels();
    new ExerciseFigures(memory, elements, this).run();
    new DriverFigures(memory, others, this).run();
    return new Report(
        accelerator.id(),
        accelerator.name(),
        accelerator.driver(),
        List.copyOf(rows),
        List.copyOf(absent));
  }

  private void pool() {
    head("pool");
    for (int bytes : POOLED_BYTES) {
      String size = Figures.bytes(bytes);
      Allocation pooled = Allocation.at(MemoryLocation.DEVICE);
      Allocation unpooled = pooled.unpooled();
      row(
          "allocate and free " + size,
          ALLOCATIONS,
          () -> allocate(bytes, pooled),
          "no pool",
          () -> allocate(bytes, unpooled),
          "the driver keeps freed memory itself, and has it at hand");
      row(
          "allocate, fill and free " + size,
          () -> allocateAndFill(bytes, pooled),
          "no pool",
          () -> allocateAndFill(bytes, unpooled),
          "the fill takes most of the time, and is the same");
      if (sharesMemory) {
        row(
            "allocate, fill and free " + size,
            () -> allocateAndFill(bytes, pooled),
            "an arena",
            () -> Tour.arena(bytes),
            Tour.slowerThanAFill(memory.accelerator()));
      }
    }
  }

  private void allocate(int bytes, Allocation allocation) {
    memory.allocate(ElementType.BYTE, bytes, allocation).close();
  }

  private void allocateAndFill(int bytes, Allocation allocation) {
    try (UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, bytes, allocation)) {
      buffer.fill((byte) 1);
    }
  }

  private void transfers() {
    head("transfers of " + Figures.bytes((long) elements * Float.BYTES));
    float[] array = new float[elements];
    try (Arena arena = Arena.ofConfined();
        UnifiedBuffer<float[]> device = memory.copyOf(array);
        UnifiedBuffer<float[]> pinned = host(MemoryLocation.PINNED);
        UnifiedBuffer<float[]> plain = host(MemoryLocation.HOST)) {
      MemorySegment host = arena.allocate(device.byteSize(), 64);
      both("to the device", () -> device.copyFrom(pinned), () -> device.copyFrom(plain));
      both("from the device", () -> pinned.copyFrom(device), () -> plain.copyFrom(device));
      row(
          "from an array",
          () -> device.copyFrom(array),
          "bare copy",
          () -> MemorySegment.copy(array, 0, host, ValueLayout.JAVA_FLOAT, 0, elements),
          sharesMemory
              ? "the copy waits for its turn behind earlier work on the buffer"
              : "the bytes go on from the host's memory to the device");
    }
  }

  private void both(String way, Runnable pinned, Runnable plain) {
    row("pinned buffer " + way, pinned, "unpinned", plain, slowerPinned(sharesMemory));
  }

  /** Returns the reason why a pinned buffer may not be faster. */
  static String slowerPinned(boolean sharesMemory) {
    return sharesMemory
        ? "host and device are one memory: pinning gains nothing"
        : "this driver copies other memory as fast";
  }

  private UnifiedBuffer<float[]> host(MemoryLocation location) {
    UnifiedBuffer<float[]> buffer = memory.allocate(ElementType.FLOAT, elements, location);
    buffer.fill((byte) 0);
    return buffer;
  }

  private void kernels() {
    head("kernels on " + Figures.count(elements, "float"));
    Kernel affine = memory.compile(KernelSource.elementwise("y = a*x + y"));
    Kernel fused = memory.compile(KernelSource.elementwise("z = sqrt(x*x + y*y)"));
    Kernel square = memory.compile(KernelSource.elementwise("s = x*x"));
    Kernel root = memory.compile(KernelSource.elementwise("z = sqrt(s + t)"));
    float[] xs = new float[elements];
    float[] ys = new float[elements];
    try (UnifiedBuffer<float[]> x = memory.copyOf(xs);
        UnifiedBuffer<float[]> y = memory.copyOf(ys);
        UnifiedBuffer<float[]> z = memory.copyOf(xs);
        UnifiedBuffer<float[]> s = memory.copyOf(xs);
        UnifiedBuffer<float[]> t = memory.copyOf(xs)) {
      row(
          "y = a*x + y",
          () -> affine.execute(Arguments.of("a", 0.5f, "x", x, "y", y)),
          "Java loop",
          () -> javaLoop(xs, ys),
          Tour.slowerThanALoop(memory.accelerator()));
      row(
          "y = a*x + y, data on the device",
          () -> affine.execute(Arguments.of("a", 0.5f, "x", x, "y", y)),
          "on arrays",
          () -> affine.execute(Arguments.of("a", 0.5f, "x", xs, "y", ys)),
          Tour.SLOWER_THAN_ON_ARRAYS);
      row(
          "z = sqrt(x*x + y*y)",
          () -> fused.execute(Arguments.of("x", x, "y", y, "z", z)),
          "3 kernels",
          () -> {
            square.execute(Arguments.of("x", x, "s", s));
            square.execute(Arguments.of("x", y, "s", t));
            root.execute(Arguments.of("s", s, "t", t, "z", z));
          },
          "the computation takes most of the time, and is the same in both");
    }
  }

  private static void javaLoop(float[] xs, float[] ys) {
    for (int i = 0; i < xs.length; i++) {
      ys[i] = 0.5f * xs[i] + ys[i];
    }
  }

  /** Starts a part of the table. */
  void head(String part) {
    table.line("");
    table.columns(part);
    this.part = part;
  }

  /** Like {@link #row(String, int, Runnable, String, Runnable, String)}, for long runs. */
  void row(String what, Runnable ours, String other, Runnable otherwise, String why) {
    row(what, 1, ours, other, otherwise, why);
  }

  /**
   * Measures both sides of a row, unless the accelerator does not support it.
   *
   * @param repeats the runs per reading of the clock, because a single run is too short
   * @param why the text to print if the other way is faster
   */
  void row(String what, int repeats, Runnable ours, String other, Runnable otherwise, String why) {
    try {
      measure(what, repeats, ours, other, otherwise, why);
    } catch (UnsupportedOperationException refused) {
      absent(what, refused);
    } catch (CompletionException inBackground) {
      if (inBackground.getCause() instanceof UnsupportedOperationException refused) {
        absent(what, refused);
      } else {
        throw inBackground;
      }
    }
  }

  /** Reports that a row could not be measured. */
  void absent(String what, UnsupportedOperationException why) {
    table.line("  " + what + ": not on this machine");
    absent.add(what + ": " + FailureText.of(why));
  }

  private void measure(
      String what, int repeats, Runnable ours, String other, Runnable otherwise, String why) {
    PairedTimes times = PairedTimes.measure(repeats, ours, otherwise);
    table.times(what, times.nanos(), times.otherNanos(), other, why);
    rows.add(new Row(part, what.strip(), times.nanos(), other, times.otherNanos()));
  }
}
