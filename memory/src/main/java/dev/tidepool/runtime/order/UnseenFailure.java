package dev.tidepool.runtime.order;

import dev.tidepool.spi.support.FailureLog;
import java.lang.ref.Cleaner;

/**
 * The failure of a future at which no code has looked. It is logged if the future becomes
 * unreachable first: work whose future was dropped must not fail unnoticed. The tasks of .NET do
 * the same ({@code TaskScheduler.UnobservedTaskException}).
 */
final class UnseenFailure implements Runnable {
  /** A program that drops all futures may fail often. */
  private static final long PAUSE_NANOS = 1_000_000_000;

  /** Created in the first {@link #watch}, because its thread may fail to start. */
  private static final class Watch {
    static final Cleaner CLEANER = Cleaner.create();
  }

  // Used by the thread of the cleaner only.
  private static long nextNanos = System.nanoTime();

  private final Throwable failure;
  private volatile boolean seen;

  UnseenFailure(Throwable failure) {
    this.failure = failure;
  }

  /** Logs the failure when a future is unreachable, unless {@link #see} is called before. */
  void watch(Object future) {
    try {
      var _ = Watch.CLEANER.register(future, this);
    } catch (RuntimeException | Error e) {
      // A missing line is better than a thread that does not end the operation.
      return;
    }
  }

  void see() {
    seen = true;
  }

  @Override
  public void run() {
    long now = System.nanoTime();
    if (!seen && now - nextNanos >= 0) {
      nextNanos = now + PAUSE_NANOS;
      FailureLog.warn(
          "asynchronous work failed, and its future was dropped: ", failure, "", failure);
    }
  }
}
