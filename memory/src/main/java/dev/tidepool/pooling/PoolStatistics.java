package dev.tidepool.pooling;

import java.util.List;

/**
 * What a pool of blocks has (<i>current</i>) and has done (<i>cumulative</i>); exact when no thread
 * is using it. Then what is reserved is idle or leased, except for blocks that wait to be freed (a
 * quarter of a second at most), for parts of slabs that are never leased again because their
 * segments may still be in use, and for what a driver rounded up.
 *
 * @param hits cumulative: leases of idle blocks
 * @param misses cumulative: leases for which the source was asked
 * @param idleBlocks current: blocks that lie idle
 * @param idleBytes current: their bytes
 * @param leasedBlocks current: blocks that are leased
 * @param leasedBytes current: their bytes, rounding to size classes included
 * @param driverAllocations cumulative: blocks that the source gave
 * @param driverFrees cumulative: blocks that went back
 * @param failedFrees cumulative: those of them that the driver refused to take; they count as gone
 * @param evictions cumulative: blocks freed because a cap was reached
 * @param trims cumulative: trims that freed something; each block that was freed to make room for
 *     page-locked memory of another pool counts as one
 * @param trimmedBytes cumulative: bytes that they freed
 * @param repeatedReleases cumulative: leases given back again, and ignored
 * @param name what messages call the pool: its memory, such as {@code cuda:0 DEVICE}
 * @param reservedBytes current: bytes that the source has given and not got back
 * @param peakReserved the most that {@code reservedBytes} has been
 * @param sizeClasses the same by size, smallest first; classes that were never used are left out
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
    long repeatedReleases,
    String name,
    long reservedBytes,
    long peakReserved,
    List<SizeClassStatistics> sizeClasses) {
  /** Returns the share of leases that needed no allocation, 0 to 1; 0 if there were none. */
  public double hitRate() {
    long leases = hits + misses;
    return leases == 0 ? 0 : (double) hits / leases;
  }
}
