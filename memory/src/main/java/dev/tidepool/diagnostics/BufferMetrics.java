package dev.tidepool.diagnostics;

import java.time.Duration;
import java.time.Instant;

/**
 * Figures about the transfers of one buffer since its allocation.
 *
 * @param hostToDeviceBytes bytes transferred from the host's memory to the device's
 * @param deviceToHostBytes bytes transferred from the device's memory to the host's
 * @param transfers the number of these transfers
 * @param transferTime the sum of their times
 * @param lastAccess the time at which an operation or a view was last requested; for an unused
 *     buffer, approximately the time of its allocation. Of short copies, and of requests for a view
 *     that is still current, only the first in each quarter of a second counts
 * @param hits accesses that found the newest bytes where they needed them. Some may be missing if
 *     several threads take the same view, or make short copies out of the buffer, at the same
 *     moment
 * @param misses accesses that needed a transfer first
 */
public record BufferMetrics(
    long hostToDeviceBytes,
    long deviceToHostBytes,
    long transfers,
    Duration transferTime,
    Instant lastAccess,
    long hits,
    long misses) {

  /** Returns the part of accesses that found the newest bytes, from 0 to 1; 0 before the first. */
  public double hitRate() {
    long accesses = hits + misses;
    return accesses == 0 ? 0 : (double) hits / accesses;
  }

  /** Returns the mean time of one transfer; zero before the first. */
  public Duration averageTime() {
    return transfers == 0 ? Duration.ZERO : transferTime.dividedBy(transfers);
  }

  /** Returns the bytes per second of transfers; 0 before the first. */
  public double averageBandwidth() {
    double seconds = transferTime.toNanos() / 1e9;
    return seconds == 0 ? 0 : (hostToDeviceBytes + deviceToHostBytes) / seconds;
  }
}
