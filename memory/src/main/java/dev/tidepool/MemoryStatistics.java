package dev.tidepool;

/**
 * A manager's figures at one moment. Counters are cumulative since the manager was made.
 *
 * @param totalAllocated bytes of buffers that live now, as they were asked for, and of arrays
 *     rented now
 * @param totalPooled bytes that lie idle in the manager's pools now, those of arrays too
 * @param poolHits blocks and arrays that a pool served without the driver
 * @param poolMisses blocks that the driver had to be asked for, and arrays that had to be made
 * @param activeBuffers buffers that live now
 * @param peakUsage the most that {@code totalAllocated} has been; what arrays added is known as far
 *     as it was asked for
 * @param pinnedBytes page-locked bytes held now by all managers of the {@link Tidepool}
 * @param totalAllocations buffers allocated so far
 * @param totalFreed buffers freed so far; the rest is {@code activeBuffers}
 * @param driverAllocations calls of the driver or the operating system that allocated
 * @param pinnedFallbacks PINNED blocks that became plain memory because no more could be locked
 * @param evictions device copies given up because memory ran out
 * @param leaks buffers that became unreachable unclosed and were reclaimed
 * @param reservedBytes bytes held of the driver and the operating system now: those of live buffers
 *     rounded up to size classes, and idle ones
 * @param peakReserved the most that was held; of several pools, such as the device's and the pinned
 *     one, the sum of what each held at most
 * @param spilledBytes bytes of live buffers that are in the spill file now
 * @param spills buffers written to the spill file because memory ran out
 * @param unspills buffers brought back from it because they were touched
 */
public record MemoryStatistics(
    long totalAllocated,
    long totalPooled,
    long poolHits,
    long poolMisses,
    long activeBuffers,
    long peakUsage,
    long pinnedBytes,
    long totalAllocations,
    long totalFreed,
    long driverAllocations,
    long pinnedFallbacks,
    long evictions,
    long leaks,
    long reservedBytes,
    long peakReserved,
    long spilledBytes,
    long spills,
    long unspills) {

  /** The part of blocks that a pool served, from 0 to 1; 0 before the first. */
  public double hitRate() {
    long asked = poolHits + poolMisses;
    return asked == 0 ? 0 : (double) poolHits / asked;
  }
}
