package dev.tidepool.spi.support;

import dev.tidepool.AcceleratorException;
import java.util.function.Supplier;

/** Reads the output of a driver's compiler. */
public final class CompilerLog {
  private CompilerLog() {}

  /**
   * Queries a driver for a log. If the driver refuses, returns a text that says so, because the
   * caller has a more important error to report.
   */
  public static String of(Supplier<String> query) {
    try {
      return query.get();
    } catch (AcceleratorException refused) {
      return "The log could not be read: " + refused.getMessage();
    }
  }

  /** Returns the end of a message: the first line that contains an error. */
  public static String firstError(String log) {
    return log.lines()
        .filter(line -> line.contains("error"))
        .findFirst()
        .map(line -> ": " + line.strip() + " (log() has the rest)")
        .orElse("; log() has what the compiler printed");
  }
}
