package dev.tidepool.spark;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * The kernels of an executor's tasks that have buffers, which share its memory limit.
 *
 * <p>Between two chunks the buffers of a kernel hold nothing that is needed. So a kernel that finds
 * no room closes those of kernels that do not compute, and waits while others compute. It has no
 * buffers itself then, and neither has another kernel of its task: tasks never wait for each other
 * for longer than one of them computes a chunk. Safe for use by any thread.
 */
final class BufferHolders {
  /** A wait ends after this time, so that the task looks whether it was killed. */
  private static final long MOST_WAIT_NANOS = 100_000_000;

  /** A kernel that may have buffers. */
  interface Holder {
    /** Closes the buffers; returns false, and does nothing, if the kernel computes with them. */
    boolean tryCloseBuffers();
  }

  private final Set<Holder> holders = ConcurrentHashMap.newKeySet();

  /** How many chunks were computed; guarded by this. */
  private long chunks;

  /** How many kernels were done with a partition; guarded by this. */
  private long ends;

  void took(Holder holder) {
    holders.add(holder);
  }

  void gaveBack(Holder holder) {
    holders.remove(holder);
  }

  /** A kernel that is done with its partition, and has no buffers, calls this. */
  synchronized void ended() {
    ends++;
    notifyAll();
  }

  /** Returns how many kernels were done so far: if there are more, there may be more room. */
  synchronized long ends() {
    return ends;
  }

  /** A kernel that has computed a chunk calls this; its buffers may be closed now. */
  synchronized void computed() {
    chunks++;
    notifyAll();
  }

  /**
   * Closes the buffers of kernels that do not compute. If all that have buffers do, waits for one
   * of them, for a short time. The caller has no buffers.
   *
   * @return whether others had buffers, so that it is worth to try again
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
