package dev.tidepool.pool.object;

import java.util.concurrent.atomic.AtomicLong;

/** A shared limit of what may lie idle, in any unit. Thread-safe. */
final class IdleQuota {
  private final long most;
  private final AtomicLong charged = new AtomicLong();

  IdleQuota(long most) {
    this.most = most;
  }

  /** Charges an amount, or nothing if that would be more than is allowed. */
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
