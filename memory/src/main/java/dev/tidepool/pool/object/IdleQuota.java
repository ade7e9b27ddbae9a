package dev.tidepool.pool.object;

import java.util.concurrent.atomic.AtomicLong;

/** A shared limit of the amount that may be idle, in any unit. Thread-safe. */
final class IdleQuota {
  private final long most;
  private final AtomicLong charged = new AtomicLong();

  IdleQuota(long most) {
    this.most = most;
  }

  /** Charges an amount and returns true, or returns false if this would exceed the limit. */
  boolean charge(long amount) {
    long before = charged.get();
    while (amount <= most - before) {
      long witness = charged.compareAndExchange(before, before + amount);
      if (witness == before) {
        return true;
      }
      before = witness;
    }
    return false;
  }

  void discharge(long amount) {
    charged.addAndGet(-amount);
  }
}
