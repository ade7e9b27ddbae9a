package dev.tidepool.testkit.simulated;

import java.time.Duration;

/**
 * How fast bytes travel to, from and on a simulated device. Immutable; each {@code with} method
 * answers with a copy.
 *
 * <p>A command takes its speed's latency and then its bytes by the bandwidth. The latency is the
 * command's alone; the bandwidth of a direction is shared by all queues of the device, whether they
 * move page-locked memory or not. Peer copies go over the link of the device whose queue runs them.
 *
 * @param pinnedUp page-locked memory of the host to the device
 * @param plainUp other memory of the host to the device
 * @param pinnedDown the device to page-locked memory of the host
 * @param plainDown the device to other memory of the host
 * @param local within the device: copies, and kernels by the bytes of their arrays
 * @param peer from another device
 */
public record SimulatedLink(
    Speed pinnedUp, Speed plainUp, Speed pinnedDown, Speed plainDown, Speed local, Speed peer) {

  /** A link that takes no time beside the copy itself. */
  public static final SimulatedLink INSTANT = both(Speed.INSTANT, Speed.INSTANT);

  /**
   * How long a command takes.
   *
   * @param latency from its beginning to its first byte
   * @param bytesPerSecond from then on; 0 for as fast as the host
   */
  public record Speed(Duration latency, long bytesPerSecond) {
    /** No time at all. */
    public static final Speed INSTANT = new Speed(Duration.ZERO, 0);

    /** Checks the numbers. */
    public Speed {
      if (latency.isNegative() || bytesPerSecond < 0) {
        throw new IllegalArgumentException(
            "a latency of %s and %s bytes a second: both must be zero or more"
                .formatted(latency, bytesPerSecond));
      }
    }

    /** Returns a latency in microseconds, and a bandwidth in units of 2^20 bytes a second. */
    public static Speed of(long micros, long mebibytesPerSecond) {
      return new Speed(Duration.ofNanos(micros * 1000), mebibytesPerSecond << 20);
    }

    long nanos(long bytes) {
      return bytesPerSecond == 0 ? 0 : (long) (bytes * 1e9 / bytesPerSecond);
    }
  }

  /** Returns a link with the same speeds to and from the device, and no time on the device. */
  public static SimulatedLink both(Speed pinned, Speed plain) {
    return new SimulatedLink(pinned, plain, pinned, plain, Speed.INSTANT, Speed.INSTANT);
  }

  /** Returns a link with a speed of copies within the device and of kernels. */
  public SimulatedLink withLocal(Speed speed) {
    return new SimulatedLink(pinnedUp, plainUp, pinnedDown, plainDown, speed, peer);
  }

  /** Returns a link with a speed of copies from other devices. */
  public SimulatedLink withPeer(Speed speed) {
    return new SimulatedLink(pinnedUp, plainUp, pinnedDown, plainDown, local, speed);
  }
}
