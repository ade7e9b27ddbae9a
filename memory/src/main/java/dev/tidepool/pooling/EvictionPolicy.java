package dev.tidepool.pooling;

import dev.tidepool.MemoryOptions;

// The order in which buffers lose their device copies is in runtime.reclaim.EvictionCandidates; the
// rank of idle blocks is in pool.block.PooledBlock.

/**
 * Which idle object an {@link ObjectPool} destroys first when it is full, and which idle block a
 * manager's pools free first ({@link MemoryOptions#evictionPolicy}).
 *
 * <p>The policy concerns idle objects and blocks only, and only how many are kept. When memory runs
 * out, or a program {@linkplain dev.tidepool.UnifiedMemoryManager#trimExcess trims}, all idle
 * blocks go back, whatever the policy. Nor does the policy determine which buffer loses its device
 * copy then: that is approximately the least recently used one, under every policy.
 */
public enum EvictionPolicy {
  /**
   * The one that came back longest ago. What two threads return between two {@linkplain
   * ObjectPool#maintain() maintenances} may count as equally old: a clock that all threads share
   * would cost more than the pool saves.
   */
  LRU,

  /** The one that was handed out least often; of equals, the older one. */
  LFU,

  /** The one that was created first. */
  FIFO,

  /**
   * One whose time to live, counted from its creation, is over. While there is none, the returned
   * object itself is destroyed. Such a pool never hands out an object older than that.
   */
  TIME_TO_LIVE
}
