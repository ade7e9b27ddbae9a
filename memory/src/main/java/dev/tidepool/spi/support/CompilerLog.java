package dev.tidepool.spi.support;

import dev.tidepool.AcceleratorException;
import java.util.function.Supplier;

/** What a driver's compiler printed. */
public final class CompilerLog {
  private CompilerLog() {}

  /** Asks a driver for a log. If it refuses, the result says so: what the log is about counts. */
  public static String of(Supplier<String> query) {
    try {
      return query.get();
    } catch (AcceleratorException refused) {
      return "The log could not be read: " + refused.getMessage();
    }
  }

  /** Returns the end of a message: the first line that tells of an error, with its place. */
  public static String firstError(String log) {
    return log.lines()
        .filter(line -> line.contains("error"))
        .findFirst()
        .map(line -> ": " + line.strip() + " (log() has the rest)")
        .orElse("; log() has what the compiler printed");
  }
}
