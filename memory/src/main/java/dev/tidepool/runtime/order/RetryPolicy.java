package dev.tidepool.runtime.order;

import dev.tidepool.AcceleratorException;
import dev.tidepool.TransferException;
import dev.tidepool.link.TransferMeter;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/**
 * When the body of a failed operation runs again: after a transient error, with exponential backoff
 * and full jitter (M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015), so
 * that operations that failed together do not retry together. Used for transfers, write-backs,
 * lendings, and for kernels until they are launched.
 *
 * @param most the maximum number of retries
 * @param withinNanos how long after the first failure retries may begin
 * @param meter counts the retries
 */
public record RetryPolicy(int most, long withinNanos, TransferMeter meter) {
  private static final long FIRST_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
  private static final long LONGEST_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  /** Never retries. */
  public static final RetryPolicy NONE = new RetryPolicy(0, 0, new TransferMeter());

  /** Returns this policy with another maximum of retries. */
  public RetryPolicy withMost(int count) {
    return new RetryPolicy(count, withinNanos, meter);
  }

  /** The bytes that arrived differ from those that were sent. */
  public static final class Damaged extends TransferException {
    private static final long serialVersionUID = 1L;

    public Damaged(String message) {
      super(message, null);
    }
  }

  /**
   * Returns the time to wait before the next attempt, and counts that attempt; -1 if there is none.
   *
   * @param attempts the number of attempts so far
   * @param sinceNanos the time since the first failure
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

  /** Returns the kind of the driver's refusal that caused a failure; PERMANENT if there is none. */
  public static AcceleratorException.Kind kindOf(Throwable failure) {
    for (Throwable e = failure; e != null; e = e.getCause()) {
      if (e instanceof AcceleratorException refusal) {
        return refusal.kind();
      }
    }
    return AcceleratorException.Kind.PERMANENT;
  }
}
