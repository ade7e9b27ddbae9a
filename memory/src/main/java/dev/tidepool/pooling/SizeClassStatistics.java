package dev.tidepool.pooling;

/**
 * Figures of one size class of a pool, current or cumulative.
 *
 * @param blockBytes bytes of each block; 0 for blocks without a class, which have the requested
 *     size: blocks above 1 GiB, and blocks that are not kept
 * @param hits cumulative: leases of idle blocks
 * @param misses cumulative: leases for which the source allocated, possibly a slab of many blocks
 * @param idleBlocks current: idle blocks
 * @param idleBytes current: the bytes of idle blocks
 * @param leasedBlocks current: leased blocks
 * @param leasedBytes current: the bytes of leased blocks, including rounding to size classes
 */
public record SizeClassStatistics(
    long blockBytes,
    long hits,
    long misses,
    long idleBlocks,
    long idleBytes,
    long leasedBlocks,
    long leasedBytes) {
  /** Returns the share of leases that needed no allocation, 0 to 1; 0 if there were none. */
  public double hitRate() {
    long leases = hits + misses;
    return leases == 0 ? 0 : (double) hits / leases;
  }
}
