package dev.tidepool.spark;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Which tasks of an executor have buffers. Tasks share the memory limit, so a task that finds no
 * room waits until another one gives its buffers back. Safe for use by any thread.
 */
final class BufferHolders {
  private static final long PAUSE_NANOS = 100_000_000;

  /** How many kernels of a task have buffers. */
  private final Map<Long, Integer> kernels = new HashMap<>();

  /** How often buffers were given back. */
  private long returns;

  synchronized void took(long task) {
    kernels.merge(task, 1, Integer::sum);
  }

  synchronized void gaveBack(long task) {
    kernels.computeIfPresent(task, (_, count) -> count == 1 ? null : count - 1);
    returns++;
    notifyAll();
  }

  /**
   * Waits a short time for the buffers of other tasks.
   *
   * @return whether other tasks had buffers, so that it is worth to try again
   */
  synchronized boolean awaitOthers(long task) {
    if (kernels.keySet().stream().allMatch(holder -> holder == task)) {
      return false;
    }
    long seen = returns;
    long end = System.nanoTime() + PAUSE_NANOS;
    try {
      for (long left = PAUSE_NANOS; returns == seen && left > 0; left = end - System.nanoTime()) {
        TimeUnit.NANOSECONDS.timedWait(this, left);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
    return true;
  }
}
