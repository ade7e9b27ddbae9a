package dev.tidepool.runtime;

import dev.tidepool.PeakScope;

/**
 * Counters of a manager that counts nothing on the way of allocations and frees. A subclass rather
 * than a flag: where no manager is like this, the virtual machine knows of one kind only, and calls
 * it directly.
 */
final class NoCounters extends Counters {
  private final LiveBuffers live;
  private final Pools pools;

  /** Looks up what lives, and what pools know. */
  NoCounters(LiveBuffers live, Pools pools) {
    this.live = live;
    this.pools = pools;
  }

  @Override
  void allocated(Tally tally, Thread thread, long bytes) {}

  @Override
  void freed(long bytes) {}

  @Override
  long live() {
    return live.bytes();
  }

  @Override
  long active(long counted) {
    return live.all().size();
  }

  @Override
  long peak(long seen) {
    return 0;
  }

  @Override
  PeakScope pushPeak(String name) {
    return new Unknown(name);
  }

  private record Unknown(String name) implements PeakScope {
    @Override
    public long peakBytes() {
      return 0;
    }

    @Override
    public void close() {}
  }

  /** Those of the pools, whoever asked for the blocks. */
  @Override
  long hits() {
    return pools.hits();
  }
}
