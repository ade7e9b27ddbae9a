package dev.tidepool.cli;

import java.io.PrintStream;
import java.util.Locale;

/** A table of times: what Tidepool takes, and beside it the naive way, within 80 columns. */
final class TimeTable {
  private static final String BOLD = "\033[1m";
  private static final String GREEN = "\033[32m";
  private static final String RED = "\033[31m";
  private static final String PLAIN = "\033[0m";

  private final PrintStream out;
  private final boolean colour;

  TimeTable(PrintStream out, boolean colour) {
    this.out = out;
    this.colour = colour;
  }

  void title(String text) {
    out.println(styled(BOLD, text));
  }

  void line(String text) {
    out.println(text);
  }

  void columns() {
    columns("");
  }

  /** The heads of the columns, with what the rows have in common. */
  void columns(String what) {
    out.println(row(what, "Tidepool", "naively", "", ""));
  }

  /** Two times, and how many times faster the first is. */
  void times(String what, double nanos, double naiveNanos, String naiveWay) {
    out.println(
        row(
            what,
            Figures.time(nanos),
            Figures.time(naiveNanos),
            naiveWay,
            factor(naiveNanos / nanos)));
  }

  /** Two measured amounts that are best small. */
  void amounts(String what, String amount, String naiveAmount, String naiveWay) {
    out.println(row(what, amount, naiveAmount, naiveWay, ""));
  }

  void verdict(boolean right, String text) {
    out.println("  " + styled(right ? GREEN : RED, text));
  }

  private static String factor(double times) {
    // A million times and more as a power of ten, or the line would be too long.
    String form = times < 9.95 ? "%.1fx" : times < 999_999 ? "%,.0fx" : "%.1ex";
    return String.format(Locale.ROOT, form, times);
  }

  private static String row(
      String what, String ours, String naive, String naiveWay, String factor) {
    return String.format(
            Locale.ROOT, "  %-34s%11s%11s  %-10s %8s", what, ours, naive, naiveWay, factor)
        .stripTrailing();
  }

  private String styled(String style, String text) {
    return colour ? style + text + PLAIN : text;
  }
}
