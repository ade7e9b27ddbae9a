package dev.tidepool.pooling;

import dev.tidepool.MemoryOptions;

// The order in which buffers lose their device copies is in runtime.reclaim.EvictionCandidates; the
// order of idle blocks is in pool.block.PooledBlock.

/**
 * Which idle object an {@link ObjectPool} destroys first when it is full, and which idle block a
 * manager's pools free first ({@link MemoryOptions#evictionPolicy}).
 *
 * <p>The policy applies only to idle objects and blocks, when a pool is full or trims by time. When
 * memory runs out, or a program {@linkplain dev.tidepool.UnifiedMemoryManager#trimExcess trims},
 * all idle blocks are freed under every policy. The buffer that then loses its device copy is
 * approximately the least recently used one, also under every policy.
 */
public enum EvictionPolicy {
  /**
   * The one that was returned longest ago. Objects that two threads return between two {@linkplain
   * ObjectPool#maintain() maintenances} may count as equally old, because a clock that all threads
   * share would cost more than the pool saves.
   */
  LRU,

  /** The one that was leased least often; among equals, the oldest. */
  LFU,

  /** The one that was created first. */
  FIFO,

  /**
   * In an object pool, one whose time to live, counted from its creation, is over; if there is
   * none, the returned object itself. Such a pool never leases an older object. In a manager's
   * pools, the block that was allocated first.
   */
  TIME_TO_LIVE
}
