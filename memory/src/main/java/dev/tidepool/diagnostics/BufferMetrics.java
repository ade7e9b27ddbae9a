package dev.tidepool.diagnostics;

import java.time.Duration;
import java.time.Instant;

/**
 * What was moved for one buffer since it was allocated.
 *
 * @param hostToDeviceBytes bytes that went from the host's memory to the device's
 * @param deviceToHostBytes bytes that went from the device's memory to the host's
 * @param transfers how many such movements there were
 * @param transferTime the time they took, added up
 * @param lastAccess when work on the buffer or a view of its bytes was last requested; for an
 *     unused buffer, about when it was allocated. Of short copies, and of requests for a view that
 *     is still current, only the first in each quarter of a second counts
 * @param hits accesses that found the newest bytes where they were needed. Some may be missing
 *     where several threads take the same view or make short copies out of the buffer at the same
 *     moment
 * @param misses accesses that had to move bytes first
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

  /** Returns the mean time of one movement; zero before the first. */
  public Duration averageTime() {
    return transfers == 0 ? Duration.ZERO : transferTime.dividedBy(transfers);
  }

  /** Bytes moved for each second of transfer; 0 before the first. */
  public double averageBandwidth() {
    double seconds = transferTime.toNanos() / 1e9;
    return seconds == 0 ? 0 : (hostToDeviceBytes + deviceToHostBytes) / seconds;
  }
}
