package dev.tidepool.diagnostics;

import dev.tidepool.MemoryStatistics;
import java.time.Duration;

/**
 * The rates of allocations and frees between two {@link MemoryStatistics} of one manager. The rates
 * are means over the caller's interval, without smoothing. All are 0 if no time passed.
 *
 * @param over the time between the two statistics
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
