package dev.tidepool.spark;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * The kernels of an executor's tasks that have buffers. They share the executor's memory limit.
 *
 * <p>Between two chunks the buffers of a kernel hold nothing that is needed. So a kernel that finds
 * no room closes the buffers of kernels that do not compute, or waits while others compute. The
 * waiting kernel has no buffers, nor has another kernel of its task. So a task never waits longer
 * for another than for the computation of one chunk. Safe for use by any thread.
 */
final class BufferHolders {
  /** The longest wait, so that the task can check whether it was killed. */
  private static final long MOST_WAIT_NANOS = 100_000_000;

  /** A kernel that may have buffers. */
  interface Holder {
    /** Closes the buffers; returns false, and does nothing, if the kernel computes with them. */
    boolean tryCloseBuffers();
  }

  private final Set<Holder> holders = ConcurrentHashMap.newKeySet();

  /** The number of calls of {@link #computed}; guarded by this. */
  private long chunks;

  /** The number of calls of {@link #ended}; guarded by this. */
  private long ends;

  void took(Holder holder) {
    holders.add(holder);
  }

  void gaveBack(Holder holder) {
    holders.remove(holder);
  }

  /** Called by a kernel that has finished its partition and has no buffers. */
  synchronized void ended() {
    ends++;
    notifyAll();
  }

  /** Returns a number that grows when a kernel is done; there may be more room then. */
  synchronized long ends() {
    return ends;
  }

  /** Called by a kernel that has computed a chunk; its buffers may be closed now. */
  synchronized void computed() {
    chunks++;
    notifyAll();
  }

  /**
   * Closes the buffers of kernels that do not compute. If all kernels with buffers compute, waits a
   * short time for one of them. The caller must have no buffers.
   *
   * @return whether other kernels had buffers, so that the caller should try again
   */
  boolean makeRoom() {
    long seen = chunks();
    boolean closed = false;
    boolean isBusy = false;
    for (Holder holder : holders) {
      if (holder.tryCloseBuffers()) {
        closed = true;
      } else {
        isBusy = true;
      }
    }
    return closed || (isBusy && awaitChunk(seen));
  }

  private synchronized long chunks() {
    return chunks;
  }

  private synchronized boolean awaitChunk(long seen) {
    long end = System.nanoTime() + MOST_WAIT_NANOS;
    try {
      for (long left = MOST_WAIT_NANOS;
          chunks == seen && left > 0;
          left = end - System.nanoTime()) {
        TimeUnit.NANOSECONDS.timedWait(this, left);
      }
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }
}
