package dev.tidepool.runtime.transfers;

import dev.tidepool.runtime.context.OpenSession;
import dev.tidepool.spi.support.FailureLog;
import dev.tidepool.transfer.TransferProgress;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Tells a listener how far a list of transfers is: one call at a time, never backwards. A thread
 * that finds the listener busy leaves the report to the thread that is in it, so no thread waits
 * for it.
 */
public final class ProgressNotifier {
  // Bound to the list's session while its listener is called.
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
   * Creates it for a listener.
   *
   * @param session of the list
   * @param whenDone is run once, when the listener has returned from its last call
   */
  ProgressNotifier(OpenSession session, TransferProgress listener, long total, Runnable whenDone) {
    this.session = session;
    this.listener = listener;
    this.total = total;
    this.whenDone = whenDone;
  }

  /**
   * Checks that the calling thread may close a session or a manager of it.
   *
   * @throws IllegalStateException if the thread calls a listener of the session: the transfer that
   *     closing waits for waits for the listener
   */
  public static void checkMayClose(OpenSession session) {
    if (LISTENING.isBound() && LISTENING.get().equals(session)) {
      throw new IllegalStateException(
          "close() would wait for itself: it was called by the progress listener of a transfer, for"
              + " which it waits; call it when the transfer's report is there");
    }
  }

  /** Removes bytes from the total; call before the list starts. */
  void leaveOut(long count) {
    total -= count;
  }

  /** So many bytes more; may be none. */
  void add(long count) {
    if (count > 0 && !listener.equals(TransferProgress.NONE)) {
      bytes.addAndGet(count);
      tell();
    }
  }

  /** Everything has ended, and nothing is added any more. */
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
        // What is left in `news` keeps all other threads out.
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
