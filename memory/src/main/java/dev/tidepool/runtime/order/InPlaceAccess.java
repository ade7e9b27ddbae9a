package dev.tidepool.runtime.order;

import dev.tidepool.pool.ShortWait;
import dev.tidepool.spi.support.FieldHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Short copies between arrays and a storage's host bytes, made at once by the calling thread. Each
 * takes one compare-and-set before the copy and one atomic addition after it.
 *
 * <p>A copy in place has no position in the order of the storage's operations. So it is allowed
 * only while no operation is queued, nothing is being moved, and the copy changes no state. A
 * thread that submits an operation, moves the bytes or closes the buffer first {@linkplain #stop
 * stops} this, under the storage's monitor, and waits for the copies that have begun. A copy in
 * place waits only for other copies, so that wait is short.
 *
 * <p>Reads run side by side; a write is alone. Threads compete: no thread is handed its turn,
 * because the turn of a sleeping thread would make all others wait until it runs. A thread that
 * does not succeed within a moment waits on the monitor of this object, which guards {@code
 * waiters}. Either {@code WAITING} is set, or a thread that was woken is about to compete and wakes
 * the next one if it gives up.
 */
abstract class InPlaceAccess {
  private static final VarHandle WORD = FieldHandle.of(MethodHandles.lookup(), "word", int.class);

  /** The bits of the word: what is allowed, whether a copy writes, and above them the reads. */
  private static final int READABLE = 1;

  private static final int WRITABLE = 2;
  private static final int WRITER = 4;

  /** A write waits for reads to end. Only reads that waited on the monitor still begin. */
  private static final int WANTED = 8;

  /** Threads wait on the monitor. The copy that leaves no other under way wakes one of them. */
  private static final int WAITING = 16;

  private static final int READER = 32;
  private static final int ALLOWED = READABLE | WRITABLE;

  /** After the try with this index a write sets {@code WANTED}, to stop further reads. */
  private static final int MOST_OVERTAKEN = 2;

  /** After this many tries a thread waits on the monitor. */
  private static final int TRIES = 8;

  /**
   * The iterations of the spin between the first two tries. Each further spin is twice as long, up
   * to {@link #LONGEST_SPIN}. If two threads read the word all the time, its cache line and those
   * of the bytes would move between the processors, which takes several times as long as the copy.
   */
  private static final int FIRST_SPIN = 8;

  private static final int LONGEST_SPIN = 64;

  private volatile int word;

  // The number of waiting threads; guarded by this.
  private int waiters;

  /**
   * Begins a copy, which {@link #leaveInPlace} ends. Waits for copies of other threads, however
   * long: if it submitted an operation instead, all others would have to, one behind the other.
   *
   * @return whether the copy is allowed; if not, the caller submits an operation
   */
  public final boolean enterInPlace(boolean writing) {
    int spin = FIRST_SPIN;
    for (int tries = 0; tries < TRIES; tries++) {
      int seen = word;
      if (!allows(seen, writing)) {
        return false;
      }
      if (writing ? enterToWrite(seen) : (seen & WANTED) == 0 && enterToRead(seen)) {
        return true;
      }
      if (writing && tries == MOST_OVERTAKEN) {
        WORD.compareAndSet(this, seen, seen | WANTED);
      }
      for (int i = 0; i < spin; i++) {
        Thread.onSpinWait();
      }
      spin = Math.min(2 * spin, LONGEST_SPIN);
    }
    return enterLater(writing);
  }

  private static boolean allows(int seen, boolean writing) {
    return (seen & (writing ? WRITABLE : READABLE)) != 0;
  }

  private boolean enterToRead(int seen) {
    return !isBlocked(seen, false) && WORD.compareAndSet(this, seen, seen + READER);
  }

  private boolean enterToWrite(int seen) {
    return !isBlocked(seen, true) && WORD.compareAndSet(this, seen, (seen & ~WANTED) | WRITER);
  }

  /** Returns whether a copy under way excludes this one. */
  private static boolean isBlocked(int seen, boolean writing) {
    return writing ? isBusy(seen) : (seen & WRITER) != 0;
  }

  private static boolean isBusy(int seen) {
    return (seen & ~(ALLOWED | WANTED | WAITING)) != 0;
  }

  /** Like {@link #enterInPlace}, but the thread waits on the monitor whenever it may not begin. */
  boolean enterLater(boolean writing) {
    boolean entered = false;
    boolean interrupted = false;
    boolean waited = false;
    synchronized (this) {
      waiters++;
      try {
        int seen = word;
        while (!entered && allows(seen, writing)) {
          // A read waits once if a write waits: reads that overlap would let no write begin. If no
          // copy is under way and no other thread waits, no thread would wake this one.
          boolean yields =
              !writing && !waited && (seen & WANTED) != 0 && (isBusy(seen) || waiters > 1);
          if (!yields && !isBlocked(seen, writing)) {
            // Does not wait if this fails: that copy may have ended since, and wakes no thread.
            entered = writing ? enterToWrite(seen) : enterToRead(seen);
          } else if (awaitEnd(seen, writing)) {
            interrupted |= pause();
            waited = true;
          }
          seen = word;
        }
      } finally {
        waiters--;
        wakeNext(entered && writing);
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    return entered;
  }

  /** Requests that the last copy to end wakes a waiting thread; false if the word has changed. */
  private boolean awaitEnd(int seen, boolean writing) {
    return WORD.compareAndSet(this, seen, seen | WAITING | (writing ? WANTED : 0));
  }

  /** Waits to be woken; returns whether the thread was interrupted. The monitor is held. */
  @SuppressWarnings("WaitNotInLoop") // the caller loops
  private boolean pause() {
    try {
      wait();
      return false;
    } catch (InterruptedException e) {
      return true;
    }
  }

  /** Lets another waiting thread wake up. The caller holds the monitor. */
  private void wakeNext(boolean atItsEnd) {
    if (waiters > 0) {
      if (atItsEnd) {
        WORD.getAndBitwiseOr(this, WAITING);
      } else {
        // It may read beside this thread, or must find that nothing is allowed any more.
        notify();
      }
    }
  }

  public final void leaveInPlace(boolean writing) {
    int left =
        (int) WORD.getAndAdd(this, writing ? -WRITER : -READER) - (writing ? WRITER : READER);
    if ((left & WAITING) != 0 && !isBusy(left)) {
      wakeOne();
    }
  }

  private synchronized void wakeOne() {
    WORD.getAndBitwiseAnd(this, ~WAITING);
    notify();
  }

  /** Returns whether {@link #enterInPlace} may succeed. */
  public final boolean isAllowed(boolean writing) {
    return allows(word, writing);
  }

  /** Allows copies, depending on the state of the bytes. The caller holds the storage's monitor. */
  public final void allow(boolean reads, boolean writes) {
    WORD.getAndBitwiseOr(this, (reads ? READABLE : 0) | (writes ? WRITABLE : 0));
  }

  /**
   * Forbids further copies, and waits until none is under way. Not interruptible. The caller holds
   * the storage's monitor.
   */
  public final void stop() {
    if (word == 0) {
      return;
    }
    int seen = (int) WORD.getAndBitwiseAnd(this, ~(ALLOWED | WANTED | WAITING));
    if ((seen & WAITING) != 0) {
      synchronized (this) {
        notifyAll();
      }
    }
    for (int tries = 0; isBusy(word); tries++) {
      ShortWait.pause(tries);
    }
  }
}
