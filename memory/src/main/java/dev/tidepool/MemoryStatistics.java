package dev.tidepool;

import dev.tidepool.diagnostics.LostResultReport;
import dev.tidepool.diagnostics.MemoryRates;
import java.time.Duration;

/**
 * A manager's figures at one moment: <i>current</i> ones are what is now, <i>cumulative</i> ones
 * count since the manager was made, <i>peaks</i> are the most that a current one has been. While
 * other threads allocate, figures are read one after the other, so they may be a few allocations
 * apart. While no thread allocates, they add up exactly.
 *
 * @param totalAllocated current: bytes of buffers that live, as they were asked for, and of arrays
 *     that are rented
 * @param totalPooled current: bytes that lie idle in the manager's pools, those of arrays too
 * @param poolHits cumulative: blocks and arrays that a pool served without the driver
 * @param poolMisses cumulative: blocks that the driver had to be asked for, and arrays that had to
 *     be made
 * @param activeBuffers current: buffers that live
 * @param peakUsage peak of {@code totalAllocated}, in which rented arrays count as they were when
 *     statistics were taken
 * @param pinnedBytes current: page-locked bytes held by all managers of the {@link Tidepool}
 * @param totalAllocations cumulative: buffers allocated
 * @param totalFreed cumulative: buffers freed; the rest is {@code activeBuffers}
 * @param driverAllocations cumulative: calls of the driver or the operating system that allocated
 * @param pinnedFallbacks cumulative: PINNED blocks that became plain memory because no more could
 *     be locked. Such a block counts when it is allocated, and not again when the pool reuses it
 * @param evictions cumulative: device copies given up because memory ran out
 * @param leaks cumulative: buffers that became unreachable unclosed and were reclaimed
 * @param reservedBytes current: bytes held of the driver and the operating system: those of live
 *     buffers rounded up to size classes, and idle ones
 * @param peakReserved peak of {@code reservedBytes}; of several pools, such as the device's and the
 *     pinned one, the sum of what each held at most
 * @param totalBytesAllocated cumulative: bytes of all buffers allocated, as they were asked for
 * @param totalBytesFreed cumulative: bytes of all buffers freed; the rest are live
 * @param uptimeNanos current: the time since the manager was made, in nanoseconds
 * @param spilledBytes current: bytes of live buffers that are in the spill file
 * @param spills cumulative: buffers written to the spill file because memory ran out
 * @param unspills cumulative: buffers brought back from it because they were touched
 * @param lostResults cumulative: buffers over wrapped, adopted or shared memory or mapped files
 *     whose newest bytes could not be brought back to it; a {@link LostResultReport} names each
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

  /** Returns the part of blocks that a pool served, from 0 to 1; 0 before the first. */
  public double hitRate() {
    long asked = poolHits + poolMisses;
    return asked == 0 ? 0 : (double) poolHits / asked;
  }

  /**
   * How fast buffers came and went since earlier figures of the same manager.
   *
   * @throws IllegalArgumentException if those are the later ones
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
