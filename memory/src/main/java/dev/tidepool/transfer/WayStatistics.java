package dev.tidepool.transfer;

import java.time.Duration;

/**
 * The transfers that took one way so far.
 *
 * @param transfers how often
 * @param bytes how many bytes in all
 * @param time the time that took, added up; transfers that ran side by side each count in full
 */
public record WayStatistics(long transfers, long bytes, Duration time) {
  /** Bytes in a second of transfer; 0 before the first. */
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
