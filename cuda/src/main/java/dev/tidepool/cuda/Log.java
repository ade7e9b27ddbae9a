package dev.tidepool.cuda;

import java.lang.System.Logger.Level;

/**
 * Lines of the log that may be written while a context is current. A log has locks, and a virtual
 * thread that waited for one could go on on another carrier, whose current context is another: so
 * its lines are written by a thread of their own.
 */
final class Log {
  private Log() {}

  /** Writes a line in the name of a class; waits for nothing on a virtual thread. */
  static void write(Class<?> of, Level level, String line, Throwable thrown) {
    Runnable writing = () -> System.getLogger(of.getName()).log(level, line, thrown);
    if (!Thread.currentThread().isVirtual()) {
      writing.run();
      return;
    }
    try {
      Thread.ofPlatform().daemon().name("tidepool-log").start(writing);
    } catch (OutOfMemoryError noThread) {
      // Closing goes on; the line is what can be done without.
    }
  }
}
