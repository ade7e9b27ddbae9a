package dev.tidepool.runtime.order;

import dev.tidepool.AcceleratorException;
import dev.tidepool.TransferException;
import dev.tidepool.link.TransferMeter;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/**
 * When a transfer that failed is tried again: after a transient error, with exponential backoff and
 * full jitter (M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015), so that
 * transfers that failed together do not come back together.
 *
 * @param most how often
 * @param withinNanos after the first failure, how long new attempts may begin
 * @param meter counts them
 */
public record RetryPolicy(int most, long withinNanos, TransferMeter meter) {
  private static final long FIRST_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
  private static final long LONGEST_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  /** Never tries again. */
  public static final RetryPolicy NONE = new RetryPolicy(0, 0, new TransferMeter());

  /** Returns this policy with another maximum of attempts. */
  public RetryPolicy withMost(int count) {
    return new RetryPolicy(count, withinNanos, meter);
  }

  /** What arrived was not what was sent. */
  public static final class Damaged extends TransferException {
    private static final long serialVersionUID = 1L;

    public Damaged(String message) {
      super(message, null);
    }
  }

  /**
   * Returns how long to wait before the next attempt, which is counted; -1 if there is none.
   *
   * @param attempts how often it was tried so far
   * @param sinceNanos how long ago it failed first
   */
  long pause(Throwable failure, int attempts, long sinceNanos) {
    if (attempts > most || !isTransient(failure)) {
      return -1;
    }
    long ceiling = Math.min(LONGEST_NANOS, FIRST_NANOS << Math.min(attempts - 1, 10));
    long pause = ThreadLocalRandom.current().nextLong(ceiling);
    if (sinceNanos + pause >= withinNanos) {
      return -1;
    }
    meter.retried();
    return pause;
  }

  private static boolean isTransient(Throwable failure) {
    return failure instanceof Damaged || kindOf(failure) == AcceleratorException.Kind.TRANSIENT;
  }

  /** Returns what a driver's refusal behind a failure was; PERMANENT if there was none. */
  public static AcceleratorException.Kind kindOf(Throwable failure) {
    for (Throwable e = failure; e != null; e = e.getCause()) {
      if (e instanceof AcceleratorException refusal) {
        return refusal.kind();
      }
    }
    return AcceleratorException.Kind.PERMANENT;
  }
}
