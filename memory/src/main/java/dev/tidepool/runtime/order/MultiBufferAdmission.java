package dev.tidepool.runtime.order;

import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;

/**
 * How operations over several buffers get memory for all of them when it is short. The operations
 * of a device take turns; until an operation has its turn, the others may take the memory of its
 * buffers. If each kept a part while it waits for the rest, none would get all. An operation over
 * buffers of several devices takes the turns of all of them, in the order of their numbers.
 */
public final class MultiBufferAdmission {
  private static final AtomicLong NUMBERS = new AtomicLong();

  private MultiBufferAdmission() {}

  /** An operation whose buffers other operations may evict until it has its turn. */
  public interface Holder {
    /** Returns whether it uses more than one buffer. */
    boolean usesSeveral();

    /** Lets the buffers be moved. */
    void vacate();

    /** Keeps the buffers from being moved; waits while they are being moved. */
    void occupy();
  }

  /** The turn on a device, which one operation has at a time. */
  public static final class Turn {
    private final long number = NUMBERS.incrementAndGet();
    private final ReentrantLock lock = new ReentrantLock(true);
    private final MemoryWaiters waiters;
    // Guarded by the lock.
    private boolean forSeveral;

    /**
     * Creates a turn that no operation has.
     *
     * @param waiters of the session, which are notified when an operation waits for its turn
     */
    public Turn(MemoryWaiters waiters) {
      this.waiters = waiters;
    }

    /** Returns whether the calling thread provides memory for several buffers together. */
    public boolean isForSeveral() {
      return lock.isHeldByCurrentThread() && forSeveral;
    }

    private void end() {
      if (lock.isHeldByCurrentThread()) {
        lock.unlock();
      }
    }

    private void take(Holder holder) {
      if (!lock.tryLock()) {
        try {
          waiters.beginBlocked();
          lock.lock();
        } finally {
          waiters.endBlocked();
        }
      }
      forSeveral = holder.usesSeveral();
    }
  }

  /**
   * Waits for the turns of an operation that is under way, then provides its memory.
   *
   * @param turns of the devices, {@link ResourceContext#admission}
   */
  public static void inTurn(Holder holder, Collection<Turn> turns, Runnable provide) {
    holder.vacate();
    List<Turn> ordered =
        turns.stream().distinct().sorted(Comparator.comparingLong(turn -> turn.number)).toList();
    try {
      ordered.forEach(turn -> turn.take(holder));
      holder.occupy();
      provide.run();
    } finally {
      // Without an iterator: even if the heap is full, other operations must get the turns.
      for (int i = 0; i < ordered.size(); i++) {
        ordered.get(i).end();
      }
    }
  }
}
