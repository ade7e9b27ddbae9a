package dev.tidepool.host;

import java.util.concurrent.atomic.AtomicLong;

/**
 * The limit of page-locked memory for all managers that share the budget. Locked pages are not
 * available to other programs on the machine. Thread-safe.
 */
public final class PinnedBudget {
  private final long limitBytes;
  private final AtomicLong used = new AtomicLong();

  /**
   * Creates an unused budget.
   *
   * @param limitBytes at least 0
   */
  public PinnedBudget(long limitBytes) {
    if (limitBytes < 0) {
      throw new IllegalArgumentException("a budget of " + limitBytes + " bytes is negative");
    }
    this.limitBytes = limitBytes;
  }

  /** Returns the most bytes that may be locked. */
  public long limitBytes() {
    return limitBytes;
  }

  /** Returns the bytes that are locked, or about to be. */
  public long usedBytes() {
    return used.get();
  }

  /** Reserves bytes if that many are left. The caller later calls {@link #giveBack}. */
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
