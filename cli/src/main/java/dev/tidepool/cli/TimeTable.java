package dev.tidepool.cli;

import java.io.PrintStream;
import java.util.Locale;

/**
 * A table of times within 80 columns: those of Tidepool, and those of the usual alternative. If
 * Tidepool is clearly slower, a line gives the reason.
 */
final class TimeTable {
  private static final String BOLD = "\033[1m";
  private static final String GREEN = "\033[32m";
  private static final String RED = "\033[31m";
  private static final String PLAIN = "\033[0m";

  /** A row with a smaller factor is slower by more than the noise of a busy machine. */
  private static final double SLOWER = 0.9;

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

  /** Prints the heads of the columns, with a title for the rows below. */
  void columns(String what) {
    out.println(row(what, "Tidepool", "otherwise", "", ""));
  }

  /**
   * Prints two times, and how many times faster the first is.
   *
   * @param other the alternative
   * @param why the reason why the first may be slower
   */
  void times(String what, double nanos, double otherNanos, String other, String why) {
    out.println(
        row(
            what,
            Figures.time(nanos),
            Figures.time(otherNanos),
            other,
            factor(otherNanos / nanos)));
    if (otherNanos / nanos < SLOWER) {
      out.println("    slower: " + why);
    }
  }

  /** Prints two measured amounts; smaller ones are better. */
  void amounts(String what, String amount, String otherAmount) {
    out.println(row(what, amount, otherAmount, "", ""));
  }

  void verdict(boolean right, String text) {
    out.println("  " + styled(right ? GREEN : RED, text));
  }

  private static String factor(double times) {
    // A factor from a million on is a power of ten, because the line would be too long.
    String form = times < 9.95 ? "%.1fx" : times < 999_999 ? "%,.0fx" : "%.1ex";
    return String.format(Locale.ROOT, form, times);
  }

  private static String row(
      String what, String ours, String otherwise, String other, String factor) {
    return String.format(
            Locale.ROOT, "  %-34s%11s%11s  %-10s %8s", what, ours, otherwise, other, factor)
        .stripTrailing();
  }

  private String styled(String style, String text) {
    return colour ? style + text + PLAIN : text;
  }
}
