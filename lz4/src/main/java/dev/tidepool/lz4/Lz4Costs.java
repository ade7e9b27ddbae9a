package dev.tidepool.lz4;

import dev.tidepool.transfer.TransferCalibration.Cost;

/**
 * The costs of bringing compressed bytes to a device and decoding them; decides where to decode.
 *
 * @param link the cost of sending page-locked memory of the host to the device
 * @param hostBytesPerSecond how fast the host decodes, in decoded bytes
 * @param deviceBytesPerSecond how fast the device decodes, including the start
 */
public record Lz4Costs(Cost link, double hostBytesPerSecond, double deviceBytesPerSecond) {

  /** Checks that rates are positive. */
  public Lz4Costs {
    if (!(hostBytesPerSecond > 0 && deviceBytesPerSecond > 0)) {
      throw new IllegalArgumentException(
          "decoding %s and %s bytes a second: rates are above 0"
              .formatted(hostBytesPerSecond, deviceBytesPerSecond));
    }
  }

  /** Returns the nanoseconds until bytes that the host decodes are on the device. */
  public double hostNanos(long decodedBytes) {
    return decodedBytes * 1e9 / hostBytesPerSecond + link.nanos(decodedBytes);
  }

  /**
   * Returns the nanoseconds until bytes that are sent compressed, with a table of the blocks, are
   * decoded on the device.
   */
  public double deviceNanos(long compressedBytes, long decodedBytes) {
    return link.nanos(0) + link.nanos(compressedBytes) + decodedBytes * 1e9 / deviceBytesPerSecond;
  }

  /** Returns whether the device is the better place to decode. */
  public boolean favoursDevice(long compressedBytes, long decodedBytes) {
    return deviceNanos(compressedBytes, decodedBytes) < hostNanos(decodedBytes);
  }
}
