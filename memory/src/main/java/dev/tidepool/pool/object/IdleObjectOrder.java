package dev.tidepool.pool.object;

import dev.tidepool.pooling.EvictionPolicy;
import java.util.Comparator;
import java.util.function.LongSupplier;

/** Orders idle members by an eviction policy: the first to be evicted is the least. */
final class IdleObjectOrder<T> implements Comparator<PooledObject<T>> {
  private final EvictionPolicy policy;
  private final long timeToLiveNanos;
  private final LongSupplier clock;

  /**
   * Creates the order of a policy.
   *
   * @param timeToLiveNanos used only by {@link EvictionPolicy#TIME_TO_LIVE}
   * @param clock in nanoseconds
   */
  IdleObjectOrder(EvictionPolicy policy, long timeToLiveNanos, LongSupplier clock) {
    this.policy = policy;
    this.timeToLiveNanos = timeToLiveNanos;
    this.clock = clock;
  }

  @Override
  public int compare(PooledObject<T> a, PooledObject<T> b) {
    int order = Long.compare(rank(a), rank(b));
    return order != 0 ? order : Long.compare(a.number, b.number);
  }

  /**
   * Returns the order of members on a shared list, by the rank they had when they were returned. A
   * second return of an object fails, but may change its current rank meanwhile. The order of a
   * list must not change.
   */
  Comparator<PooledObject<T>> ofShared() {
    return Comparator.<PooledObject<T>>comparingLong(member -> member.sharedRank)
        .thenComparingLong(member -> member.number);
  }

  /** Returns the rank of a member. The least is evicted first. */
  long rank(PooledObject<T> member) {
    return switch (policy) {
      case LRU -> member.returnedTick;
      case LFU -> member.leases();
      case FIFO, TIME_TO_LIVE -> member.number;
    };
  }

  /** Returns whether an idle member is evicted for one that is returned. */
  boolean yields(PooledObject<T> idle, PooledObject<T> returning) {
    return policy == EvictionPolicy.TIME_TO_LIVE ? hasExpired(idle) : compare(idle, returning) < 0;
  }

  /** Returns whether the member has expired. Always false without a time to live. */
  boolean hasExpired(PooledObject<T> member) {
    return policy == EvictionPolicy.TIME_TO_LIVE
        && clock.getAsLong() - member.createdNanos >= timeToLiveNanos;
  }
}
