package dev.tidepool.spi.support;

/** What a driver's compiler printed. */
public final class CompilerLog {
  private CompilerLog() {}

  /** Returns the end of a message: the first line that tells of an error, with its place. */
  public static String firstError(String log) {
    return log.lines()
        .filter(line -> line.contains("error"))
        .findFirst()
        .map(line -> ": " + line.strip() + " (log() has the rest)")
        .orElse("; log() has what the compiler printed");
  }
}
