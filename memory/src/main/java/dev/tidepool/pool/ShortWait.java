package dev.tidepool.pool;

import java.util.concurrent.locks.LockSupport;

/**
 * How a thread waits for another one that is about to be done, such as with a short copy: it spins,
 * then lets other threads run, because the other one may have lost its processor, then pauses.
 */
public final class ShortWait {
  /** The tries after which another thread is no longer about to be done. */
  public static final int TRIES = 320;

  private static final int SPINS = 64;
  private static final long PAUSE_NANOS = 20_000;

  private ShortWait() {}

  /** Waits for the next try, of which so many have failed before. */
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
