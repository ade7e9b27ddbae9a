package dev.tidepool.host;

import dev.tidepool.spi.support.FailureLog;
import org.jspecify.annotations.Nullable;

/**
 * Freed blocks whose segments a native call or an I/O operation still holds open.
 *
 * <p>A daemon thread retries them until each is freed. It exists only while there are such blocks.
 * One lock guards the queue; no thread waits or frees memory while it holds the lock. The queue
 * links the blocks, so that adding one allocates nothing.
 */
final class DeferredFrees {
  private static final long FIRST_PAUSE_MILLIS = 1;
  private static final long LONGEST_PAUSE_MILLIS = 100;

  private static final Object LOCK = new Object();
  private static @Nullable HostBlock first;
  private static @Nullable HostBlock last;
  private static boolean running;

  private DeferredFrees() {}

  static void add(HostBlock block) {
    boolean starts;
    synchronized (LOCK) {
      append(block);
      starts = !running;
      running = true;
    }
    if (starts) {
      start();
    }
  }

  /** Queues a block. The caller holds the lock. */
  private static void append(HostBlock block) {
    if (last == null) {
      first = block;
    } else {
      last.nextDeferred = block;
    }
    last = block;
  }

  /** Removes the first block, or returns null if there is none. The caller holds the lock. */
  private static @Nullable HostBlock poll() {
    HostBlock block = first;
    if (block != null) {
      first = block.nextDeferred;
      block.nextDeferred = null;
      last = first == null ? null : last;
    }
    return block;
  }

  /** Starts the thread. If that fails, the next block that is added tries again. */
  private static void start() {
    try {
      Thread.ofPlatform().daemon().name("tidepool-deferred-frees").start(DeferredFrees::drain);
    } catch (VirtualMachineError e) {
      synchronized (LOCK) {
        running = false;
      }
    }
  }

  private static void drain() {
    long pause = FIRST_PAUSE_MILLIS;
    for (; ; ) {
      HostBlock block;
      synchronized (LOCK) {
        block = poll();
        if (block == null) {
          running = false;
          return;
        }
      }
      if (ended(block)) {
        pause = FIRST_PAUSE_MILLIS;
      } else {
        synchronized (LOCK) {
          append(block);
        }
        sleep(pause);
        pause = Math.min(2 * pause, LONGEST_PAUSE_MILLIS);
      }
    }
  }

  /**
   * Returns whether the block is freed. A block that the system refuses to take back counts as
   * freed. Never throws, because there is only one thread for all blocks.
   */
  private static boolean ended(HostBlock block) {
    try {
      return block.tryEnd();
    } catch (RuntimeException | Error e) {
      FailureLog.warn("", block, " could not be given back", e);
      return true;
    }
  }

  private static void sleep(long millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException e) {
      // No other code can interrupt this thread. The next round tries again.
      return;
    }
  }
}
