package dev.tidepool.cli;

import dev.tidepool.Accelerator;
import dev.tidepool.transfer.TransferCalibration;
import dev.tidepool.transfer.TransferCalibration.Cost;
import dev.tidepool.transfer.TransferCalibration.Leg;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Prints the measured costs of an accelerator's transfers as a table. */
final class CalibrationTable {
  private static final long MEBIBYTE = 1 << 20;

  private final PrintStream out;
  private final List<Row> rows = new ArrayList<>();

  /**
   * The entry of a leg in the output of {@code --json}.
   *
   * @param bytesPerSecond 0 if the time of the bytes was too short to measure
   */
  record Row(String leg, double latencyNanos, double bytesPerSecond) {}

  /** The output of {@code --json}. */
  record Report(String device, String measured, List<Row> rows) {}

  CalibrationTable(PrintStream out) {
    this.out = out;
  }

  Report print(Accelerator accelerator, TransferCalibration calibration) {
    out.println(accelerator.id() + " (" + accelerator.name() + ")");
    out.println(row("", "latency", "bandwidth", "1 MiB"));
    for (Leg leg : Leg.values()) {
      calibration.cost(leg).ifPresent(cost -> print(name(leg), cost));
    }
    calibration.peers().forEach((peer, cost) -> print("from " + peer, cost));
    out.println("Kept for the next run; transfers go the cheapest way from now on.");
    return new Report(accelerator.id(), calibration.measured().toString(), rows);
  }

  private void print(String name, Cost cost) {
    boolean endless = cost.nanosPerByte() == 0;
    rows.add(new Row(name, cost.latencyNanos(), endless ? 0 : cost.peak()));
    String rate = endless ? "-" : Figures.rate(MEBIBYTE, cost.nanosPerByte() * MEBIBYTE);
    out.println(
        row(name, Figures.time(cost.latencyNanos()), rate, Figures.time(cost.nanos(MEBIBYTE))));
  }

  private static String name(Leg leg) {
    return switch (leg) {
      case PINNED_UP -> "pinned memory to device";
      case PLAIN_UP -> "plain memory to device";
      case PINNED_DOWN -> "device to pinned memory";
      case PLAIN_DOWN -> "device to plain memory";
      case LOCAL -> "device to device";
      case HOST_COPY -> "array to staging block";
      case COMMAND -> "one more write";
      case CHUNK -> "one more chunk";
      case SCATTER -> "4 KiB pieces, scattered";
    };
  }

  private static String row(String what, String latency, String bandwidth, String time) {
    return String.format(Locale.ROOT, "  %-30s%12s%14s%12s", what, latency, bandwidth, time)
        .stripTrailing();
  }
}
