package dev.tidepool.host;

import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Freed blocks whose segments a native call or an I/O operation still holds open.
 *
 * <p>A daemon thread tries them again until each is gone; it exists only while there are any. One
 * lock guards the queue, and nothing waits or frees while it is held.
 */
final class DeferredFrees {
  private static final System.Logger LOG = System.getLogger(DeferredFrees.class.getName());
  private static final long FIRST_PAUSE_MILLIS = 1;
  private static final long LONGEST_PAUSE_MILLIS = 100;

  private static final Object LOCK = new Object();
  private static final Deque<HostBlock> WAITING = new ArrayDeque<>();
  private static long bytes;
  private static boolean running;

  private DeferredFrees() {}

  static void add(HostBlock block) {
    boolean starts;
    synchronized (LOCK) {
      WAITING.add(block);
      bytes += block.byteSize();
      starts = !running;
      running = true;
    }
    if (starts) {
      start();
    }
  }

  /** Starts the thread; if the system gives none, the next block that comes asks again. */
  private static void start() {
    try {
      Thread.ofPlatform().daemon().name("tidepool-deferred-frees").start(DeferredFrees::drain);
    } catch (OutOfMemoryError e) {
      synchronized (LOCK) {
        running = false;
      }
    }
  }

  /** Bytes that wait. */
  static long bytes() {
    synchronized (LOCK) {
      return bytes;
    }
  }

  private static void drain() {
    long pause = FIRST_PAUSE_MILLIS;
    for (; ; ) {
      HostBlock block;
      synchronized (LOCK) {
        block = WAITING.poll();
        if (block == null) {
          running = false;
          return;
        }
      }
      if (ended(block)) {
        pause = FIRST_PAUSE_MILLIS;
        synchronized (LOCK) {
          bytes -= block.byteSize();
        }
      } else {
        synchronized (LOCK) {
          WAITING.add(block);
        }
        sleep(pause);
        pause = Math.min(2 * pause, LONGEST_PAUSE_MILLIS);
      }
    }
  }

  /** Whether the block is gone; one that the system refuses to take back counts as gone. */
  private static boolean ended(HostBlock block) {
    try {
      return block.tryEnd();
    } catch (RuntimeException e) {
      LOG.log(System.Logger.Level.WARNING, block + " could not be given back", e);
      return true;
    }
  }

  private static void sleep(long millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException e) {
      // No other code has this thread to interrupt it. The next round looks again.
      return;
    }
  }
}
