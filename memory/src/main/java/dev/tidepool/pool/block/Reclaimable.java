package dev.tidepool.pool.block;

import dev.tidepool.pooling.EvictionPolicy;

/**
 * What one driver call gave and one gives back: a block, or a slab with all its parts.
 *
 * <p>Looks are maintenance's, under its lock.
 */
sealed interface Reclaimable permits PooledBlock, Slab {
  /** Bytes that come back with it. */
  long bytes();

  /** Returns its rank: the less, the sooner it goes; of a slab, what its last part to go has. */
  long rank(EvictionPolicy policy);

  /** Returns whether it was allocated before a time. */
  boolean isOlderThan(long nanoTime);

  /** Returns whether all of it seems idle. */
  boolean isAllIdle();

  /**
   * Looks at it, idle as it is, at {@code now}; whether earlier looks found it idle since before
   * {@code nanoTime} too.
   */
  boolean looksUnusedSince(long nanoTime, long now);

  /** Returns whether it was leased since the last look. */
  boolean wasUsedSinceLook();

  /** Makes all of it the caller's; false, and nothing is changed, if some of it is in use. */
  boolean claim(IdleSet idle);

  /** Puts back what was claimed. */
  void unclaim(IdleSet idle);
}
