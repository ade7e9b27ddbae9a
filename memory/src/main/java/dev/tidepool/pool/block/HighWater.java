package dev.tidepool.pool.block;

import dev.tidepool.pool.SizeClasses;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/**
 * Keeps the size of a pool close to the bytes in use. Before a new request to the source, idle
 * blocks are returned to it while the pool would hold more than 1.25 times the most bytes in use
 * since the last trim. An idle block of one class does not serve another class. So without this
 * class, a program that changes its sizes would hold the sum of what each phase needed.
 *
 * <p>The bytes in use are not counted when blocks are leased or returned. They are computed just
 * before a request to the source, from the bytes that are held and the bytes that are charged.
 *
 * <p>There are at most {@value #FREE_EVICTIONS} evictions plus three quarters of the misses. In a
 * program that requests the same sizes in turns, each miss is due to an eviction. So such a program
 * keeps blocks of all its sizes after about a thousand evictions.
 *
 * <p>Takes no lock. Threads that request memory from the source at the same time may each free as
 * much.
 */
final class HighWater {
  /** The bytes that a pool may hold even if nothing is in use. */
  private static final long FREE_BYTES = 8L << 20;

  private static final int FREE_EVICTIONS = 256;

  private final IdleBlocks idle;
  private final PoolCounters counters;
  private final LongSupplier evict;
  private final AtomicLong mostLive = new AtomicLong();
  private final AtomicLong evictions = new AtomicLong();

  /**
   * Creates a high-water mark of zero.
   *
   * @param evict returns an idle block or slab to the source; returns its bytes, or 0 if there is
   *     none
   */
  HighWater(IdleBlocks idle, PoolCounters counters, LongSupplier evict) {
    this.idle = idle;
    this.counters = counters;
    this.evict = evict;
  }

  /**
   * Returns idle blocks to the source while the pool would hold too much with this many more bytes.
   *
   * @return the bytes in use including these, for {@link #used} once the source has given them
   */
  long makeRoomFor(long bytes) {
    // Charged blocks are idle, or leased with their credit. This lower bound is fast to compute.
    long live = counters.heldBytes() + bytes - idle.chargedBytes();
    if (excess(bytes, live) > 0) {
      live += leasedCredits();
    }
    // Not more than the excess at first: other threads may allocate as fast as this one frees.
    long left = excess(bytes, live);
    while (left > 0 && excess(bytes, live) > 0 && mayEvict()) {
      long evicted = evict.getAsLong();
      if (evicted == 0) {
        break;
      }
      evictions.incrementAndGet();
      left -= evicted;
    }
    return live;
  }

  /**
   * Records the bytes in use. For a moment they may include bytes that are about to be freed.
   * Allocates nothing, because the source has just given a block.
   */
  void used(long bytes) {
    if (bytes > mostLive.get()) {
      mostLive.accumulateAndGet(bytes, PoolCounters.GREATER);
    }
  }

  /** Resets the mark after a trim. */
  void restart() {
    mostLive.set(0);
  }

  /** Returns the bytes that the pool would hold too much with this many more. */
  private long excess(long bytes, long live) {
    long most = Math.max(mostLive.get(), live);
    return counters.heldBytes() + bytes - Math.max(FREE_BYTES, most + most / 4);
  }

  private boolean mayEvict() {
    return evictions.get() < FREE_EVICTIONS + counters.misses() * 3 / 4;
  }

  private long leasedCredits() {
    long bytes = 0;
    for (int sizeClass = 0; sizeClass < SizeClasses.COUNT; sizeClass++) {
      if (counters.hasMissed(sizeClass)) {
        bytes += idle.leasedCredits(sizeClass);
      }
    }
    return bytes;
  }
}
