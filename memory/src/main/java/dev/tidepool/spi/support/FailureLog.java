package dev.tidepool.spi.support;

import java.lang.System.Logger.Level;

/**
 * Logs failures that no caller could handle. Throws nothing: where the heap is full there may be no
 * room for the message, and the thread that logs has more to do.
 */
public final class FailureLog {
  private FailureLog() {}

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

  /**
   * Logs in the name of a class, while the calling thread may have a driver's state, such as a
   * current context. A log has locks. A virtual thread that waited for one could go on on another
   * carrier, whose state is another. So a thread of their own writes the lines of virtual threads.
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
