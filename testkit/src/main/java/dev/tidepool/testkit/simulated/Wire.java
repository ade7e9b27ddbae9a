package dev.tidepool.testkit.simulated;

import dev.tidepool.testkit.simulated.SimulatedLink.Speed;
import java.util.concurrent.locks.LockSupport;

/**
 * One direction of a device's link. Commands of several queues reserve their times on it one after
 * another, so that together they are no faster than the link. The monitor guards the reservation;
 * no thread waits with the monitor held.
 */
final class Wire {
  /** The approximate delay with which the system wakes a parked thread. */
  private static final long SPIN_NANOS = 80_000;

  private long freeAt;

  /** Creates a wire that is free from a time on, in nanoseconds. */
  Wire(long now) {
    freeAt = now;
  }

  /** Reserves the time of a command that begins now, and returns the time of its end. */
  synchronized long reserve(long now, Speed speed, long bytes) {
    long begin = now + speed.latency().toNanos();
    if (begin < freeAt) {
      begin = freeAt;
    }
    freeAt = begin + speed.nanos(bytes);
    return freeAt;
  }

  /** Runs a copy in exactly the time that it takes on the link, if the host is fast enough. */
  void carry(Speed speed, long bytes, Runnable copy) {
    if (speed.equals(Speed.INSTANT)) {
      copy.run();
      return;
    }
    long end = reserve(System.nanoTime(), speed, bytes);
    copy.run();
    for (long left = end - System.nanoTime(); left > 0; left = end - System.nanoTime()) {
      if (left > SPIN_NANOS) {
        LockSupport.parkNanos(left - SPIN_NANOS);
      } else {
        Thread.onSpinWait();
      }
    }
  }
}
