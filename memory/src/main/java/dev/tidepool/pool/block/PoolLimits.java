package dev.tidepool.pool.block;

import dev.tidepool.pooling.EvictionPolicy;

/**
 * How much a pool keeps.
 *
 * @param pooling whether anything is; if not, each block is allocated and freed for one lease
 * @param maxBytes of idle blocks in all
 * @param maxBytesPerClass of idle blocks in one size class; those above 1 GiB are one class
 * @param keptBytes of idle blocks that {@link MemoryPool#trimIdleSince} leaves however old they are
 * @param policy which idle block goes first when there is no room; with {@code TIME_TO_LIVE} the
 *     one that was allocated first, and {@link MemoryPool#trimIdleSince} goes by the time of
 *     allocation
 * @param zeroOnRelease whether blocks that the host reaches directly are cleared before they are
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
