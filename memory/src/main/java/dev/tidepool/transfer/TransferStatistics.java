package dev.tidepool.transfer;

import java.time.Duration;
import java.util.Map;

/**
 * What a manager moved so far. Copies within the host's memory are no transfers.
 *
 * <p>An efficiency is the bandwidth achieved, as a part of the best that the {@linkplain
 * TransferCalibration calibration} measured: 1 is all that the link offers. It is not a number
 * (NaN) where nothing was calibrated, and 0 before the first transfer. Small transfers are mostly
 * latency, so many of them lower it.
 *
 * @param hostToDeviceBytes bytes that went from the host's memory to the device's
 * @param hostToDeviceTransfers how often
 * @param hostToDeviceTime the time that took
 * @param deviceToHostBytes bytes that went from the device's memory to the host's
 * @param deviceToHostTransfers how often
 * @param deviceToHostTime the time that took
 * @param deviceToDeviceBytes bytes that the driver copied from device memory to device memory
 * @param deviceToDeviceTransfers how often
 * @param stagedBytes those of the bytes between host and device that went through staging blocks
 * @param deviceToDeviceTime the time that copies from device memory to device memory took
 * @param ways the figures of each way; unused ways are left out. Copies from buffer to buffer
 *     within the host's memory are counted here as {@code SAME_MEMORY}, and nowhere else
 * @param hostToDevicePeak bytes in a second from the host's memory to the device's at best; NaN if
 *     not calibrated
 * @param deviceToHostPeak the same the other way round
 * @param deviceToDevicePeak the same within the device
 * @param retries how often a transfer was tried again after a transient error
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

  /** Bytes to the device in a second of transfer; 0 before the first. */
  public double hostToDeviceBandwidth() {
    return WayStatistics.bandwidth(hostToDeviceBytes, hostToDeviceTime);
  }

  /** Bytes to the host in a second of transfer; 0 before the first. */
  public double deviceToHostBandwidth() {
    return WayStatistics.bandwidth(deviceToHostBytes, deviceToHostTime);
  }

  /** Bytes within and between devices in a second of transfer; 0 before the first. */
  public double deviceToDeviceBandwidth() {
    return WayStatistics.bandwidth(deviceToDeviceBytes, deviceToDeviceTime);
  }

  /** Returns the part of the peak that transfers to the device reach. */
  public double hostToDeviceEfficiency() {
    return hostToDeviceBandwidth() / hostToDevicePeak;
  }

  /** Returns the part of the peak that transfers to the host reach. */
  public double deviceToHostEfficiency() {
    return deviceToHostBandwidth() / deviceToHostPeak;
  }
}
