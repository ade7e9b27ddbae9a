package dev.tidepool.pooling;

import java.util.List;

/**
 * Figures of a pool of blocks, current or cumulative; exact while no thread uses it. Then all
 * reserved bytes are idle or leased, except blocks that wait to be freed (a quarter of a second at
 * most), parts of slabs that are never leased again because their segments may still be in use, and
 * bytes that a driver added by rounding.
 *
 * @param hits cumulative: leases of idle blocks
 * @param misses cumulative: leases for which the source allocated
 * @param idleBlocks current: idle blocks
 * @param idleBytes current: the bytes of idle blocks
 * @param leasedBlocks current: leased blocks
 * @param leasedBytes current: the bytes of leased blocks, including rounding to size classes
 * @param driverAllocations cumulative: blocks that the source allocated
 * @param driverFrees cumulative: blocks returned to the source
 * @param failedFrees cumulative: frees that the driver refused; these blocks count as freed
 * @param evictions cumulative: blocks freed because a cap was reached
 * @param trims cumulative: trims that freed something; each block that was freed to make room for
 *     page-locked memory of another pool counts as one
 * @param trimmedBytes cumulative: bytes that trims freed
 * @param repeatedReleases cumulative: repeated returns of a lease, which are ignored
 * @param name the pool's name in messages, such as {@code cuda:0 DEVICE}
 * @param reservedBytes current: bytes that the source allocated and that were not freed
 * @param peakReserved peak of {@code reservedBytes}
 * @param sizeClasses the figures of each size class, the smallest first; unused classes are left
 *     out
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
