package dev.tidepool.testkit.simulated;

import java.time.Duration;

/**
 * The speeds of transfers to, from and on a simulated device. Immutable; each {@code with} method
 * returns a copy.
 *
 * <p>A command takes the latency of its speed, and then the time of its bytes at the bandwidth. The
 * latency belongs to one command. All queues of the device share the bandwidth of a direction, for
 * page-locked and other memory. Peer copies use the link of the device whose queue runs them.
 *
 * @param pinnedUp the speed from page-locked host memory to the device
 * @param plainUp the speed from other host memory to the device
 * @param pinnedDown the speed from the device to page-locked host memory
 * @param plainDown the speed from the device to other host memory
 * @param local the speed within the device: copies, and kernels by the bytes of their arrays
 * @param peer the speed from another device
 */
public record SimulatedLink(
    Speed pinnedUp, Speed plainUp, Speed pinnedDown, Speed plainDown, Speed local, Speed peer) {

  /** A link that adds no time to the copy. */
  public static final SimulatedLink INSTANT = both(Speed.INSTANT, Speed.INSTANT);

  /**
   * The speed of a command.
   *
   * @param latency the time before the first byte
   * @param bytesPerSecond the bandwidth after that; 0 for the host's speed
   */
  public record Speed(Duration latency, long bytesPerSecond) {
    /** The speed that adds no time. */
    public static final Speed INSTANT = new Speed(Duration.ZERO, 0);

    /** Checks the numbers. */
    public Speed {
      if (latency.isNegative() || bytesPerSecond < 0) {
        throw new IllegalArgumentException(
            "a latency of %s and %s bytes a second: both must be zero or more"
                .formatted(latency, bytesPerSecond));
      }
    }

    /** Returns a speed with a latency in microseconds and a bandwidth in MiB per second. */
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
