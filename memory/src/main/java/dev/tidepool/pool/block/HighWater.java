package dev.tidepool.pool.block;

import dev.tidepool.pool.SizeClasses;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;

/**
 * Keeps the size of a pool close to what is in use. Before the source is asked for more, idle
 * blocks go back to it while the pool would hold more than 1.25 times the most bytes that were in
 * use since the last trim. An idle block of one class does not serve another. So without this, a
 * program that changes its sizes would hold the sum of what each phase needed.
 *
 * <p>The bytes in use are not counted where blocks change hands. They are computed when the source
 * is about to be asked, from the bytes that are held and those that are charged.
 *
 * <p>Evictions are at most three quarters of the misses and {@value #FREE_EVICTIONS} more. In a
 * program that asks for the same sizes in turns, each miss is due to an eviction. So such a program
 * keeps blocks of all its sizes after about a thousand evictions.
 *
 * <p>Takes no lock. Threads that ask the source at once may each free as much.
 */
final class HighWater {
  /** Bytes that a pool may hold whatever is in use. */
  private static final long FREE_BYTES = 8L << 20;

  private static final int FREE_EVICTIONS = 256;

  private final IdleBlocks idle;
  private final PoolCounters counters;
  private final BooleanSupplier evict;
  private final AtomicLong mostLive = new AtomicLong();
  private final AtomicLong evictions = new AtomicLong();

  /**
   * Creates a mark of zero.
   *
   * @param evict gives an idle block or slab back to the source; false if there is none
   */
  HighWater(IdleBlocks idle, PoolCounters counters, BooleanSupplier evict) {
    this.idle = idle;
    this.counters = counters;
    this.evict = evict;
  }

  /**
   * Gives idle blocks back, while the pool would hold too much with so many more bytes.
   *
   * @return the bytes in use with them, for {@link #used} once the source has given them
   */
  long makeRoomFor(long bytes) {
    // What is charged is idle, or leased with its credit. This lower bound is quick to compute.
    long live = counters.heldBytes() + bytes - idle.chargedBytes();
    if (isExceededBy(bytes, live)) {
      live += leasedCredits();
    }
    while (isExceededBy(bytes, live) && mayEvict() && evict.getAsBoolean()) {
      evictions.incrementAndGet();
    }
    return live;
  }

  /**
   * So many bytes are in use. Bytes that are about to be freed may be among them for a moment.
   * Makes no object: the source has just given a block.
   */
  void used(long bytes) {
    if (bytes > mostLive.get()) {
      mostLive.accumulateAndGet(bytes, PoolCounters.GREATER);
    }
  }

  /** After a trim: what was in use before counts no more. */
  void restart() {
    mostLive.set(0);
  }

  private boolean isExceededBy(long bytes, long live) {
    long most = Math.max(mostLive.get(), live);
    return counters.heldBytes() + bytes > Math.max(FREE_BYTES, most + most / 4);
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
