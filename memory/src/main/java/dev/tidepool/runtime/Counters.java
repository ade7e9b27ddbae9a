package dev.tidepool.runtime;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/** A manager's counts of buffers. Safe for use by any thread. */
final class Counters {
  private final LongAdder allocations = new LongAdder();
  private final LongAdder frees = new LongAdder();
  private final LongAdder evictions = new LongAdder();
  private final LongAdder leaks = new LongAdder();
  private final AtomicLong live = new AtomicLong();
  private final AtomicLong peak = new AtomicLong();

  void allocated(long bytes) {
    allocations.increment();
    long now = live.addAndGet(bytes);
    if (now > peak.get()) {
      peak.accumulateAndGet(now, Math::max);
    }
  }

  void freed(long bytes) {
    live.addAndGet(-bytes);
    frees.increment();
  }

  void evicted() {
    evictions.increment();
  }

  void leaked() {
    leaks.increment();
  }

  long allocations() {
    return allocations.sum();
  }

  long frees() {
    return frees.sum();
  }

  long evictions() {
    return evictions.sum();
  }

  long leaks() {
    return leaks.sum();
  }

  long live() {
    return live.get();
  }

  long peak() {
    return peak.get();
  }
}
