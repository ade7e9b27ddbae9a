package dev.tidepool.transfer;

import java.time.Duration;
import java.util.Map;

/**
 * Figures about a manager's transfers so far. Copies within the host's memory are not transfers.
 *
 * <p>An efficiency is the achieved bandwidth as a part of the best that the {@linkplain
 * TransferCalibration calibration} measured: 1 means that the link is fully used. It is NaN if
 * nothing was calibrated, otherwise 0 before the first transfer. Many small transfers lower it,
 * because they are mostly latency.
 *
 * @param hostToDeviceBytes bytes transferred from the host's memory to the device's
 * @param hostToDeviceTransfers the number of these transfers
 * @param hostToDeviceTime the time of these transfers
 * @param deviceToHostBytes bytes transferred from the device's memory to the host's
 * @param deviceToHostTransfers the number of these transfers
 * @param deviceToHostTime the time of these transfers
 * @param deviceToDeviceBytes bytes that the driver copied from device memory to device memory
 * @param deviceToDeviceTransfers the number of these copies
 * @param stagedBytes bytes between host and device that passed through staging blocks
 * @param deviceToDeviceTime the time of copies from device memory to device memory
 * @param ways the figures of each way; unused ways are left out. Copies between buffers within the
 *     host's memory count only here, as {@code SAME_MEMORY}
 * @param hostToDevicePeak the best bytes per second from the host's memory to the device's; NaN if
 *     not calibrated
 * @param deviceToHostPeak the best bytes per second from the device's memory to the host's; NaN if
 *     not calibrated
 * @param deviceToDevicePeak the best bytes per second within the device; NaN if not calibrated
 * @param retries retries of transfers after transient errors
 */
public record TransferStatistics(
    long hostToDeviceBytes,
    long hostToDeviceTransfers,
    Duration hostToDeviceTime,
    long deviceToHostBytes,
    long deviceToHostTransfers,
    Duration deviceToHostTime,
    long deviceToDeviceBytes,
    long deviceToDeviceTransfers,
    long stagedBytes,
    Duration deviceToDeviceTime,
    Map<TransferWay, WayStatistics> ways,
    double hostToDevicePeak,
    double deviceToHostPeak,
    double deviceToDevicePeak,
    long retries) {

  private static final WayStatistics NOTHING = new WayStatistics(0, 0, Duration.ZERO);

  /** Copies the map. */
  public TransferStatistics {
    ways = Map.copyOf(ways);
  }

  /** Returns the figures of one way; zeros if it was not used. */
  public WayStatistics way(TransferWay way) {
    return ways.getOrDefault(way, NOTHING);
  }

  /** Returns the mean time of one transfer to the device; zero before the first. */
  public Duration hostToDeviceAverageTime() {
    return average(hostToDeviceTime, hostToDeviceTransfers);
  }

  /** Returns the mean time of one transfer to the host; zero before the first. */
  public Duration deviceToHostAverageTime() {
    return average(deviceToHostTime, deviceToHostTransfers);
  }

  private static Duration average(Duration time, long transfers) {
    return transfers == 0 ? Duration.ZERO : time.dividedBy(transfers);
  }

  /** Returns the bytes per second to the device; 0 before the first transfer. */
  public double hostToDeviceBandwidth() {
    return WayStatistics.bandwidth(hostToDeviceBytes, hostToDeviceTime);
  }

  /** Returns the bytes per second to the host; 0 before the first transfer. */
  public double deviceToHostBandwidth() {
    return WayStatistics.bandwidth(deviceToHostBytes, deviceToHostTime);
  }

  /** Returns the bytes per second within and between devices; 0 before the first copy. */
  public double deviceToDeviceBandwidth() {
    return WayStatistics.bandwidth(deviceToDeviceBytes, deviceToDeviceTime);
  }

  /** Returns the part of the peak that transfers to the device reach; NaN if not calibrated. */
  public double hostToDeviceEfficiency() {
    return hostToDeviceBandwidth() / hostToDevicePeak;
  }

  /** Returns the part of the peak that transfers to the host reach; NaN if not calibrated. */
  public double deviceToHostEfficiency() {
    return deviceToHostBandwidth() / deviceToHostPeak;
  }
}
