package dev.tidepool.host;

import java.util.concurrent.atomic.AtomicLong;

/**
 * How much memory may be page-locked, by all managers that share the budget: locked pages are taken
 * from every other program on the machine. Thread-safe.
 */
public final class PinnedBudget {
  private final long limitBytes;
  private final AtomicLong used = new AtomicLong();

  /**
   * Creates a budget with nothing used.
   *
   * @param limitBytes at least 0
   */
  public PinnedBudget(long limitBytes) {
    if (limitBytes < 0) {
      throw new IllegalArgumentException("a budget of " + limitBytes + " bytes is negative");
    }
    this.limitBytes = limitBytes;
  }

  /** Bytes that may be locked in all. */
  public long limitBytes() {
    return limitBytes;
  }

  /** Bytes that are locked now, or about to be. */
  public long usedBytes() {
    return used.get();
  }

  /** Takes bytes of the budget if that many are left; the caller must {@link #giveBack} them. */
  public boolean reserve(long bytes) {
    for (; ; ) {
      long now = used.get();
      if (bytes > limitBytes - now) {
        return false;
      }
      if (used.compareAndSet(now, now + bytes)) {
        return true;
      }
    }
  }

  /** Ends a reservation. */
  public void giveBack(long bytes) {
    used.addAndGet(-bytes);
  }
}
