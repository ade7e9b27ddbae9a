package dev.tidepool.pooling;

/**
 * What one size class of a pool has (<i>current</i>) and has done (<i>cumulative</i>).
 *
 * @param blockBytes bytes of each of its blocks; 0 for blocks without a class, which have the size
 *     that was asked for: those above 1 GiB, and those that are not kept
 * @param hits cumulative: leases of idle blocks
 * @param misses cumulative: leases for which the source was asked; one may have brought a slab of
 *     many blocks
 * @param idleBlocks current: blocks that lie idle
 * @param idleBytes current: their bytes
 * @param leasedBlocks current: blocks that are leased
 * @param leasedBytes current: their bytes, rounding to size classes included
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
