package dev.tidepool.link;

import dev.tidepool.pool.block.Lease;

/** Allocates the staging blocks of transfers. */
@FunctionalInterface
public interface StagingAllocator {
  /**
   * Returns a block with a segment that all threads may access.
   *
   * @param bytes the least size of the block
   * @param pinned whether to page-lock it if possible
   */
  Lease lease(long bytes, boolean pinned);
}
