package dev.tidepool.spi.support;

import java.lang.System.Logger.Level;

/**
 * Logs failures that no caller can handle. Throws nothing: the heap may have no room for the
 * message, and the calling thread must continue.
 */
public final class FailureLog {
  private FailureLog() {}

  public static void warn(String message, Throwable failure) {
    log(Level.WARNING, message, "", "", failure);
  }

  /** Logs a warning. Its message is concatenated here, because that takes memory too. */
  public static void warn(String before, Object subject, String after, Throwable failure) {
    log(Level.WARNING, before, subject, after, failure);
  }

  /** Logs a failure that usually does not concern the user. */
  public static void debug(String message, Throwable failure) {
    log(Level.DEBUG, message, "", "", failure);
  }

  /**
   * Logs for a class while the calling thread may have state of a driver, such as a current
   * context. A virtual thread that waits for a lock of the log could continue on another carrier,
   * which has other state. So a separate platform thread writes the lines of virtual threads.
   */
  public static void ofDriver(
      Class<?> of, Level level, Object subject, String after, Throwable failure) {
    try {
      String line = subject + after;
      Runnable writing = () -> System.getLogger(of.getName()).log(level, line, failure);
      if (Thread.currentThread().isVirtual()) {
        Thread.ofPlatform().daemon().name("tidepool-log").start(writing);
      } else {
        writing.run();
      }
    } catch (RuntimeException | Error e) {
      return;
    }
  }

  private static void log(
      Level level, String before, Object subject, String after, Throwable failure) {
    try {
      System.getLogger("dev.tidepool").log(level, before + subject + after, failure);
    } catch (RuntimeException | Error e) {
      return;
    }
  }
}
