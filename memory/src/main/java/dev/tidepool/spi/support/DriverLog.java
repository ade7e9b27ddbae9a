package dev.tidepool.spi.support;

import java.lang.System.Logger.Level;

/**
 * Writes lines of the log while a thread may have a driver's state, such as a current context. A
 * log has locks. A virtual thread that waited for one could go on on another carrier, whose state
 * is another. So a thread of their own writes the lines of virtual threads.
 */
public final class DriverLog {
  private DriverLog() {}

  /** Writes a line in the name of a class. Does not block a virtual thread, and throws nothing. */
  public static void write(Class<?> of, Level level, String line, Throwable thrown) {
    try {
      Runnable writing = () -> System.getLogger(of.getName()).log(level, line, thrown);
      if (Thread.currentThread().isVirtual()) {
        Thread.ofPlatform().daemon().name("tidepool-log").start(writing);
      } else {
        writing.run();
      }
    } catch (RuntimeException | Error e) {
      // The line is lost: the heap is full, or the program's own log failed. The caller goes on.
    }
  }
}
