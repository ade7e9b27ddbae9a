package dev.tidepool.pool;

import java.util.concurrent.locks.LockSupport;

/**
 * A wait for another thread that is almost done, such as with a short copy. The waiting thread
 * spins, then yields, because the other thread may have lost its processor, then parks.
 */
public final class ShortWait {
  /** The number of tries after which the other thread is no longer considered almost done. */
  public static final int TRIES = 320;

  private static final int SPINS = 64;
  private static final long PAUSE_NANOS = 20_000;

  private ShortWait() {}

  /** Waits before the next try, after the given number of tries has failed. */
  @SuppressWarnings("ThreadPriorityCheck") // a hint that nothing relies on
  public static void pause(int tries) {
    if (tries < SPINS) {
      Thread.onSpinWait();
    } else if (tries < TRIES) {
      Thread.yield();
    } else {
      LockSupport.parkNanos(PAUSE_NANOS);
    }
  }
}
