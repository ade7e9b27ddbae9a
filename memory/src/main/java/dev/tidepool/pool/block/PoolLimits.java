package dev.tidepool.pool.block;

import dev.tidepool.pooling.EvictionPolicy;

/**
 * The limits of a pool.
 *
 * @param pooling whether the pool keeps blocks; if not, each block is allocated and freed for one
 *     lease
 * @param maxBytes of all idle blocks
 * @param maxBytesPerClass of idle blocks in one size class; blocks above 1 GiB are one class
 * @param keptBytes of idle blocks that {@link MemoryPool#trimIdleSince} keeps regardless of age
 * @param policy chooses the idle block to evict when the pool is full. {@code TIME_TO_LIVE} chooses
 *     the block that was allocated first; {@link MemoryPool#trimIdleSince} then uses the time of
 *     allocation.
 * @param zeroOnRelease whether blocks that the host accesses directly are cleared before they are
 *     kept
 */
public record PoolLimits(
    boolean pooling,
    long maxBytes,
    long maxBytesPerClass,
    long keptBytes,
    EvictionPolicy policy,
    boolean zeroOnRelease) {
  public PoolLimits {
    if (maxBytes < 0 || maxBytesPerClass < 0 || keptBytes < 0) {
      throw new IllegalArgumentException(
          "limits of a pool are not negative, but these are "
              + maxBytes
              + " bytes in all, "
              + maxBytesPerClass
              + " in a class, "
              + keptBytes
              + " kept");
    }
  }
}
