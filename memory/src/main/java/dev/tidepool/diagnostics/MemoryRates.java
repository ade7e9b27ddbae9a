package dev.tidepool.diagnostics;

import dev.tidepool.MemoryStatistics;
import java.time.Duration;

/**
 * How fast buffers came and went between two {@link MemoryStatistics} of one manager. The rates are
 * means over the time that the caller chose; nothing is smoothed. All 0 where no time passed.
 *
 * @param over the time between the two
 * @param allocationsPerSecond buffers allocated
 * @param freesPerSecond buffers freed
 * @param bytesAllocatedPerSecond bytes of buffers allocated
 * @param bytesFreedPerSecond bytes of buffers freed
 */
public record MemoryRates(
    Duration over,
    double allocationsPerSecond,
    double freesPerSecond,
    double bytesAllocatedPerSecond,
    double bytesFreedPerSecond) {}
