package dev.tidepool.link;

import dev.tidepool.pool.block.Lease;

/** Where transfers get staging blocks from. */
@FunctionalInterface
public interface StagingAllocator {
  /**
   * Returns a block with a segment that all threads reach.
   *
   * @param bytes that it has at least
   * @param pinned whether it is page-locked where that is possible
   */
  Lease lease(long bytes, boolean pinned);
}
