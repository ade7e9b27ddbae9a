package dev.tidepool;

import dev.tidepool.diagnostics.LostResultReport;
import dev.tidepool.diagnostics.MemoryRates;
import java.time.Duration;

/**
 * A manager's figures at one moment. <i>Current</i> figures describe that moment, <i>cumulative</i>
 * ones count since the manager was created, and a <i>peak</i> is the largest value of a current
 * figure. The figures are read one after the other: while other threads allocate, they may differ
 * by a few allocations. While no thread allocates, they add up exactly.
 *
 * @param totalAllocated current: requested bytes of live buffers, and bytes of rented arrays
 * @param totalPooled current: idle bytes in the manager's pools, including pools of arrays
 * @param poolHits cumulative: blocks and arrays that a pool served without the driver
 * @param poolMisses cumulative: blocks that the driver allocated, and arrays that were created
 * @param activeBuffers current: live buffers
 * @param peakUsage peak of {@code totalAllocated}; rented arrays are counted only when statistics
 *     are taken
 * @param pinnedBytes current: page-locked bytes held by all managers of the {@link Tidepool}
 * @param totalAllocations cumulative: buffers allocated
 * @param totalFreed cumulative: buffers freed; the others are {@code activeBuffers}
 * @param driverAllocations cumulative: calls of the driver or the operating system that allocated
 * @param pinnedFallbacks cumulative: PINNED blocks in plain memory, because no more memory could be
 *     locked; a block counts when it is allocated, and not again when a pool reuses it
 * @param evictions cumulative: device copies evicted because memory ran out, or by {@link
 *     UnifiedMemoryManager#suspend()}
 * @param leaks cumulative: buffers that became unreachable without being closed, and were reclaimed
 * @param reservedBytes current: bytes held from the driver and the operating system: those of live
 *     buffers, rounded up to size classes, and idle bytes
 * @param peakReserved peak of {@code reservedBytes}; with several pools, such as the device's and
 *     the pinned one, the sum of their peaks
 * @param totalBytesAllocated cumulative: requested bytes of all buffers allocated
 * @param totalBytesFreed cumulative: requested bytes of all buffers freed; the others are live
 * @param uptimeNanos current: nanoseconds since the manager was created
 * @param spilledBytes current: bytes of live buffers that are in the spill file
 * @param spills cumulative: buffers written to the spill file because memory ran out, or by {@link
 *     UnifiedMemoryManager#suspend()}
 * @param unspills cumulative: buffers read back from the spill file because they were used, or by
 *     {@link UnifiedMemoryManager#resume()}
 * @param lostResults cumulative: buffers over wrapped, adopted or shared memory or mapped files
 *     whose newest bytes could not be copied back; a {@link LostResultReport} names each
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
    long totalBytesAllocated,
    long totalBytesFreed,
    long uptimeNanos,
    long spilledBytes,
    long spills,
    long unspills,
    long lostResults) {

  /**
   * Returns the part of blocks and arrays that a pool served, from 0 to 1; 0 before the first
   * request.
   */
  public double hitRate() {
    long asked = poolHits + poolMisses;
    return asked == 0 ? 0 : (double) poolHits / asked;
  }

  /**
   * Returns how fast buffers were allocated and freed since earlier figures of the same manager.
   *
   * @throws IllegalArgumentException if {@code earlier} is the later one
   */
  public MemoryRates since(MemoryStatistics earlier) {
    Duration over = Duration.ofNanos(uptimeNanos - earlier.uptimeNanos);
    if (over.isNegative()) {
      throw new IllegalArgumentException(
          "rates are asked of the later figures; these were taken "
              + over.negated().toMillis()
              + " ms before the others");
    }
    double seconds = over.isZero() ? Double.POSITIVE_INFINITY : over.toNanos() / 1e9;
    return new MemoryRates(
        over,
        (totalAllocations - earlier.totalAllocations) / seconds,
        (totalFreed - earlier.totalFreed) / seconds,
        (totalBytesAllocated - earlier.totalBytesAllocated) / seconds,
        (totalBytesFreed - earlier.totalBytesFreed) / seconds);
  }
}
