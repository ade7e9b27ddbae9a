package dev.tidepool.cli;

import dev.tidepool.Accelerator;
import dev.tidepool.MemoryOptions;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.cli.trace.Replay;
import dev.tidepool.cli.trace.Trace;
import java.io.PrintStream;
import java.util.Locale;

/**
 * Replays a trace with and without a pool, and prints the figures side by side. Each replay uses a
 * new manager, the two are repeated in turn, and the fastest replay of each counts.
 */
final class ReplayTable {
  private static final long PATIENCE_NANOS = 2_000_000_000L;
  private static final int FEWEST_ROUNDS = 2;
  private static final int MOST_ROUNDS = 10;

  private final Accelerator accelerator;
  private final Trace trace;
  private final boolean fill;
  private final PrintStream out;

  ReplayTable(Accelerator accelerator, Trace trace, boolean fill, PrintStream out) {
    this.accelerator = accelerator;
    this.trace = trace;
    this.fill = fill;
    this.out = out;
  }

  /**
   * The measurements.
   *
   * @param device the accelerator's id
   * @param filled whether each buffer was filled once
   * @param reservedPerLive the pool's peak of reserved bytes divided by the peak of live bytes
   * @param driverCallsSaved the fraction of driver calls that the pool saved, from 0 to 1
   * @param warmDriverCallsSaved the same after the warm-up
   */
  record Report(
      String device,
      String trace,
      int events,
      boolean filled,
      Replay pooled,
      Replay unpooled,
      double reservedPerLive,
      double driverCallsSaved,
      double warmDriverCallsSaved) {}

  Report run() {
    out.println(accelerator.id() + "  " + accelerator.name());
    Replay pooled = replay(true);
    Replay unpooled = replay(false);
    long begin = System.nanoTime();
    for (int round = 1;
        round < FEWEST_ROUNDS
            || (round < MOST_ROUNDS && System.nanoTime() - begin < PATIENCE_NANOS);
        round++) {
      pooled = faster(pooled, replay(true));
      unpooled = faster(unpooled, replay(false));
    }
    Report report =
        new Report(
            accelerator.id(),
            trace.name(),
            trace.events(),
            fill,
            pooled,
            unpooled,
            pooled.reservedPerLive(),
            saved(pooled.driverCalls(), unpooled.driverCalls()),
            saved(pooled.warmDriverCalls(), unpooled.warmDriverCalls()));
    print(report);
    return report;
  }

  private Replay replay(boolean pooling) {
    // No other manager has the same options, so the pool of host memory is not shared either.
    MemoryOptions options =
        MemoryOptions.builder().pooling(pooling).maxPoolBytesPerClass((1L << 30) + 1).build();
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(accelerator, options)) {
      return Replay.of(trace, memory, fill);
    }
  }

  private static Replay faster(Replay one, Replay other) {
    return one.nanos() <= other.nanos() ? one : other;
  }

  private static double saved(long calls, long unpooledCalls) {
    return unpooledCalls == 0 ? 0 : 1 - (double) calls / unpooledCalls;
  }

  private void print(Report report) {
    Replay pooled = report.pooled();
    Replay unpooled = report.unpooled();
    out.println(
        "  "
            + report.trace()
            + ": "
            + Figures.count(pooled.allocations(), "allocation")
            + ", at most "
            + Figures.bytes(pooled.peakLive())
            + " at one time"
            + (fill ? ", each filled once" : ""));
    row("", "pooled", "unpooled", "");
    row(
        "time",
        Figures.time(pooled.nanos()),
        Figures.time(unpooled.nanos()),
        factor((double) unpooled.nanos() / pooled.nanos()));
    row(
        "  of one allocation and its free",
        Figures.time((double) pooled.nanos() / pooled.allocations()),
        Figures.time((double) unpooled.nanos() / unpooled.allocations()),
        "");
    row(
        "driver calls",
        Figures.count(pooled.driverCalls()),
        Figures.count(unpooled.driverCalls()),
        percent(report.driverCallsSaved()) + " less");
    row(
        "  after the warm-up",
        Figures.count(pooled.warmDriverCalls()),
        Figures.count(unpooled.warmDriverCalls()),
        percent(report.warmDriverCallsSaved()) + " less");
    row(
        "hit rate after the warm-up",
        percent(pooled.warmHitRate()),
        percent(unpooled.warmHitRate()),
        "");
    row(
        "held at most",
        Figures.bytes(pooled.peakReserved()),
        Figures.bytes(unpooled.peakReserved()),
        "");
    row(
        "  as a multiple of live bytes",
        Figures.decimal(pooled.reservedPerLive(), 3),
        Figures.decimal(unpooled.reservedPerLive(), 3),
        "");
  }

  private static String percent(double part) {
    return Figures.decimal(100 * part, 2) + "%";
  }

  private static String factor(double times) {
    return Figures.decimal(times, 1) + "x";
  }

  private void row(String what, String pooled, String unpooled, String comparison) {
    out.println(
        String.format(Locale.ROOT, "    %-34s%13s%13s  %s", what, pooled, unpooled, comparison)
            .stripTrailing());
  }
}
