package dev.tidepool.runtime.transfers;

import dev.tidepool.runtime.context.OpenSession;
import dev.tidepool.spi.support.FailureLog;
import dev.tidepool.transfer.TransferProgress;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Reports the progress of a list of transfers to a listener: one call at a time, with increasing
 * numbers. A thread that finds the listener busy leaves the report to the thread that calls the
 * listener. So no thread waits for the listener.
 */
public final class ProgressNotifier {
  // Bound to the list's session while the listener is called.
  private static final ScopedValue<OpenSession> LISTENING = ScopedValue.newInstance();

  private final OpenSession session;
  private final TransferProgress listener;
  private final Runnable whenDone;
  private final AtomicLong bytes = new AtomicLong();
  private final AtomicInteger news = new AtomicInteger();
  // Changed only before the list starts.
  private long total;
  private volatile boolean done;
  // Used only by the thread that calls the listener.
  private long reported;

  /**
   * Creates the notifier of a list.
   *
   * @param session of the list
   * @param whenDone is run once, after the last call of the listener has returned
   */
  ProgressNotifier(OpenSession session, TransferProgress listener, long total, Runnable whenDone) {
    this.session = session;
    this.listener = listener;
    this.total = total;
    this.whenDone = whenDone;
  }

  /**
   * Checks that the calling thread may close the session or one of its managers.
   *
   * @throws IllegalStateException if the thread is inside a listener of the session. Closing would
   *     wait for the transfer, which waits for the listener.
   */
  public static void checkMayClose(OpenSession session) {
    if (LISTENING.isBound() && LISTENING.get().equals(session)) {
      throw new IllegalStateException(
          "close() would wait for itself: it was called by the progress listener of a transfer, for"
              + " which it waits; call it when the transfer's report is there");
    }
  }

  /** Subtracts bytes from the total. Call only before the list starts. */
  void leaveOut(long count) {
    total -= count;
  }

  /** Adds transferred bytes, 0 or more. */
  void add(long count) {
    if (count > 0 && !listener.equals(TransferProgress.NONE)) {
      bytes.addAndGet(count);
      tell();
    }
  }

  /** Records that every transfer has ended. Nothing is added afterwards. */
  void finish() {
    done = true;
    tell();
  }

  private void tell() {
    if (news.getAndIncrement() != 0) {
      return;
    }
    int told;
    do {
      told = news.get();
      boolean ends = done;
      long now = bytes.get();
      if (now > reported) {
        reported = now;
        call(now);
      }
      if (ends) {
        // `news` stays above 0, which keeps all other threads out.
        whenDone.run();
        return;
      }
    } while (news.addAndGet(-told) != 0);
  }

  private void call(long now) {
    try {
      ScopedValue.where(LISTENING, session).run(() -> listener.progressed(now, total));
    } catch (Throwable e) {
      FailureLog.warn("the listener of a list of transfers failed; it goes on", e);
    }
  }
}
