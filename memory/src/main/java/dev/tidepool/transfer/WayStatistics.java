package dev.tidepool.transfer;

import java.time.Duration;

/**
 * Figures about the transfers that used one way so far.
 *
 * @param transfers the number of transfers
 * @param bytes the bytes of these transfers
 * @param time the sum of their times; concurrent transfers each count in full
 */
public record WayStatistics(long transfers, long bytes, Duration time) {
  /** Returns the bytes per second; 0 before the first transfer. */
  public double bandwidth() {
    return bandwidth(bytes, time);
  }

  /** Returns the mean time of one transfer; zero before the first. */
  public Duration averageTime() {
    return transfers == 0 ? Duration.ZERO : time.dividedBy(transfers);
  }

  static double bandwidth(long bytes, Duration time) {
    double seconds = time.toNanos() / 1e9;
    return seconds == 0 ? 0 : bytes / seconds;
  }
}
