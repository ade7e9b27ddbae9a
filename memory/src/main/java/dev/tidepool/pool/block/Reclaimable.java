package dev.tidepool.pool.block;

import dev.tidepool.pooling.EvictionPolicy;

/**
 * The memory of one driver call: a block, or a slab with all its parts.
 *
 * <p>Only maintenance calls {@link #looksUnusedSince} and {@link #wasUsedSinceLook}, under its
 * lock.
 */
sealed interface Reclaimable permits PooledBlock, Slab {
  /** Returns the bytes that are freed with it. */
  long bytes();

  /** Returns the rank: the least is evicted first. A slab has the largest rank of its parts. */
  long rank(EvictionPolicy policy);

  /** Returns whether it was allocated before a time. */
  boolean isOlderThan(long nanoTime);

  /** Returns whether all of it seems idle. */
  boolean isAllIdle();

  /**
   * Records that it is idle at {@code now}. Returns whether it has been seen idle and unused since
   * before {@code nanoTime}.
   */
  boolean looksUnusedSince(long nanoTime, long now);

  /** Returns whether it was leased since the last look. */
  boolean wasUsedSinceLook();

  /** Claims all of it for the caller. If some is in use, changes nothing and returns false. */
  boolean claim(IdleSet idle);

  /** Puts back the claimed memory. */
  void unclaim(IdleSet idle);
}
