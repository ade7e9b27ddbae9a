package dev.tidepool.pool;

/**
 * What a pool has and has done; exact when no thread is using it.
 *
 * @param hits leases of idle blocks
 * @param misses leases for which the source was asked
 * @param idleBlocks blocks that lie idle
 * @param idleBytes their bytes
 * @param leasedBlocks blocks that someone holds
 * @param leasedBytes their bytes, rounding to size classes included
 * @param driverAllocations blocks that the source gave
 * @param driverFrees blocks that went back
 * @param failedFrees those of them that the driver refused to take; they count as gone
 * @param evictions blocks freed because a cap was reached
 * @param trims trimmings that freed something
 * @param trimmedBytes bytes that they freed
 * @param repeatedReleases leases given back again, and ignored
 */
public record PoolStatistics(
    long hits,
    long misses,
    long idleBlocks,
    long idleBytes,
    long leasedBlocks,
    long leasedBytes,
    long driverAllocations,
    long driverFrees,
    long failedFrees,
    long evictions,
    long trims,
    long trimmedBytes,
    long repeatedReleases) {
  /** The share of leases that needed no allocation, 0 to 1; 0 if there were none. */
  public double hitRate() {
    long leases = hits + misses;
    return leases == 0 ? 0 : (double) hits / leases;
  }
}
