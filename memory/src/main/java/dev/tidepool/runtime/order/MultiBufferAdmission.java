package dev.tidepool.runtime.order;

import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;

/**
 * How work over several buffers gets memory for all of them where that is short: one piece of work
 * of a device after another, and what each has already may be taken by the others until it is its
 * turn. If each kept a part while it waits for the rest, none would get all. Work over buffers of
 * several devices has its turn on all of them, in the order of their turns' numbers.
 */
public final class MultiBufferAdmission {
  private static final AtomicLong NUMBERS = new AtomicLong();

  private MultiBufferAdmission() {}

  /** Work that has buffers, whose memory others may take until it is its turn. */
  public interface Holder {
    /** Returns whether it uses more than one buffer. */
    boolean usesSeveral();

    /** Lets the buffers be moved. */
    void vacate();

    /** Keeps the buffers from being moved; waits while they are. */
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
     * Creates a turn that no work has.
     *
     * @param waiters of the session, which are told when work waits for its turn
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
   * Provides memory for work that is under way, when it is its turn.
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
      // By no iterator: a full heap must not keep the turns from others.
      for (int i = 0; i < ordered.size(); i++) {
        ordered.get(i).end();
      }
    }
  }
}
