package dev.tidepool.spi.support;

import java.lang.System.Logger.Level;

/**
 * Logs failures that no caller could handle. Throws nothing: where the heap is full there may be no
 * room for the message, and the thread that logs has more to do.
 */
public final class FailureLog {
  private static final System.Logger LOG = System.getLogger("dev.tidepool");

  private FailureLog() {}

  /** Logs a warning. */
  public static void warn(String message, Throwable failure) {
    log(Level.WARNING, message, "", "", failure);
  }

  /** Logs a warning, whose message is put together here, because that takes memory too. */
  public static void warn(String before, Object subject, String after, Throwable failure) {
    log(Level.WARNING, before, subject, after, failure);
  }

  /** Logs what concerns no user, as a rule. */
  public static void debug(String message, Throwable failure) {
    log(Level.DEBUG, message, "", "", failure);
  }

  private static void log(
      Level level, String before, Object subject, String after, Throwable failure) {
    try {
      LOG.log(level, before + subject + after, failure);
    } catch (RuntimeException | Error e) {
      return;
    }
  }
}
