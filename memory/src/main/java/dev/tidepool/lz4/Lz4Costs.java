package dev.tidepool.lz4;

/**
 * What it takes to bring compressed bytes to a device, decoded; decides where they are decoded.
 *
 * @param linkBytesPerSecond how fast bytes go from the host to the device
 * @param linkSeconds how long a transfer of nothing takes
 * @param hostBytesPerSecond how fast the host decodes, counted in decoded bytes
 * @param deviceBytesPerSecond how fast the device does, its copies of them included
 */
public record Lz4Costs(
    double linkBytesPerSecond,
    double linkSeconds,
    double hostBytesPerSecond,
    double deviceBytesPerSecond) {

  /** Checks that rates are positive. */
  public Lz4Costs {
    if (!(linkBytesPerSecond > 0
        && linkSeconds >= 0
        && hostBytesPerSecond > 0
        && deviceBytesPerSecond > 0)) {
      throw new IllegalArgumentException(
          "a link of %g bytes a second and %g s, decoding %g and %g bytes a second: rates are above 0"
              .formatted(
                  linkBytesPerSecond, linkSeconds, hostBytesPerSecond, deviceBytesPerSecond));
    }
  }

  /** Seconds until bytes that the host decodes are on the device. */
  public double hostSeconds(long decodedBytes) {
    return decodedBytes / hostBytesPerSecond + linkSeconds + decodedBytes / linkBytesPerSecond;
  }

  /** Seconds until bytes that travel compressed, and a table of them, are decoded there. */
  public double deviceSeconds(long compressedBytes, long decodedBytes) {
    return 2 * linkSeconds
        + compressedBytes / linkBytesPerSecond
        + decodedBytes / deviceBytesPerSecond;
  }

  /** Whether the device is the better place to decode. */
  public boolean favoursDevice(long compressedBytes, long decodedBytes) {
    return deviceSeconds(compressedBytes, decodedBytes) < hostSeconds(decodedBytes);
  }
}
