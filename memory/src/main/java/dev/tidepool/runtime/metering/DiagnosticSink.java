package dev.tidepool.runtime.metering;

import dev.tidepool.diagnostics.DiagnosticReport;
import dev.tidepool.spi.support.FailureLog;
import dev.tidepool.spi.support.Uninterruptibly;
import java.lang.System.Logger.Level;
import java.util.ArrayDeque;
import java.util.Optional;
import java.util.Queue;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Passes the reports of one manager to the log and to the listener of its options.
 *
 * <p>The calling thread writes to the log. The listener is the user's code and may block, so a
 * separate daemon thread calls it with one report after another. That thread exists only while
 * there are reports. Closing the manager waits for it, for a limited time. Thread-safe; no lock is
 * held while the listener is called.
 */
public final class DiagnosticSink {
  private static final System.Logger LOG = System.getLogger("dev.tidepool");
  private static final long MOST_WAIT_MILLIS = 5_000;

  private final Optional<Consumer<DiagnosticReport>> listener;

  // Both guarded by this. A report stays queued until the listener has returned.
  private final Queue<DiagnosticReport> untaken = new ArrayDeque<>();
  private @Nullable Thread teller;

  public DiagnosticSink(Optional<Consumer<DiagnosticReport>> listener) {
    this.listener = listener;
  }

  public void log(Level level, String line) {
    LOG.log(level, line);
  }

  /** Logs a report, and queues it for the listener. */
  public void report(Level level, DiagnosticReport report) {
    log(level, report.toString());
    tell(report);
  }

  /**
   * Queues a report for the listener, behind all earlier reports. Does not wait for the listener,
   * unless no thread can be started.
   */
  public void tell(DiagnosticReport report) {
    listener.ifPresent(
        present -> {
          if (isFirst(report)) {
            start(() -> tellAll(present));
          }
        });
  }

  private synchronized boolean isFirst(DiagnosticReport report) {
    untaken.add(report);
    return untaken.size() == 1;
  }

  private void start(Runnable telling) {
    try {
      Thread thread = Thread.ofPlatform().daemon().name("tidepool-reports").unstarted(telling);
      synchronized (this) {
        teller = thread;
      }
      thread.start();
    } catch (OutOfMemoryError noThread) {
      // No thread can be started, so this thread calls the listener.
      synchronized (this) {
        teller = Thread.currentThread();
      }
      telling.run();
    }
  }

  private void tellAll(Consumer<DiagnosticReport> present) {
    DiagnosticReport next;
    synchronized (this) {
      next = untaken.peek();
    }
    while (next != null) {
      tell(present, next);
      synchronized (this) {
        untaken.remove();
        next = untaken.peek();
        notifyAll();
      }
    }
  }

  private static void tell(Consumer<DiagnosticReport> present, DiagnosticReport report) {
    try {
      present.accept(report);
    } catch (RuntimeException | Error e) {
      FailureLog.warn("the report listener failed on: ", report, "", e);
    }
  }

  /**
   * Waits until the listener has handled every report, at most a few seconds. Does not wait if the
   * listener itself calls this. Not interruptible: an interrupt stays set.
   */
  public void awaitTaken() {
    int left = untakenAfterWait();
    if (left > 0) {
      LOG.log(
          Level.WARNING,
          "the report listener blocks: "
              + (left == 1 ? "1 report waits" : left + " reports wait")
              + " for it, and the manager closes without it");
    }
  }

  private int untakenAfterWait() {
    synchronized (this) {
      if (Thread.currentThread().equals(teller)) {
        return 0;
      }
      Uninterruptibly.await(this, MOST_WAIT_MILLIS * 1_000_000, untaken::isEmpty);
      return untaken.size();
    }
  }
}
