package dev.tidepool.runtime.order;

import dev.tidepool.pool.ShortWait;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Short copies between arrays and a storage's host bytes, made at once by the calling thread: one
 * exchange before the copy and one after it.
 *
 * <p>A copy in place has no position in the order of the storage's work. So it is allowed only
 * while there is no such work, nothing is being moved, and the copy changes no state. The thread
 * that asks for work, moves the bytes or closes the buffer first {@linkplain #stop stops} this,
 * under the storage's monitor, and waits for the copies that have begun. A copy in place waits for
 * other copies only, so that wait is short.
 *
 * <p>Reads run side by side; a write is alone. Threads compete: no thread is handed its turn, since
 * a turn for a thread that sleeps would make all others wait until it runs. A thread that does not
 * succeed within a moment waits on the monitor of this object, which guards {@code waiters}. Either
 * {@code WAITING} is set, or a thread that was woken is about to compete and wakes the next one if
 * it gives up.
 */
abstract class InPlaceAccess {
  private static final VarHandle WORD;

  /** Bits of the word: what is allowed, and whether a copy writes; above them the reads. */
  private static final int READABLE = 1;

  private static final int WRITABLE = 2;
  private static final int WRITER = 4;

  /** A write waits for reads to end, so no further ones begin. */
  private static final int WANTED = 8;

  /** Threads wait on the monitor: the copy that leaves no other under way wakes one of them. */
  private static final int WAITING = 16;

  private static final int READER = 32;
  private static final int ALLOWED = READABLE | WRITABLE;

  /** After a write was overtaken by reads this often, no further reads begin before it. */
  private static final int MOST_OVERTAKEN = 2;

  /** After so many tries a thread waits on the monitor. */
  private static final int TRIES = 8;

  /**
   * Turns of a spin between the first two tries; then twice as many each time, up to {@link
   * #LONGEST_SPIN}. Two threads that looked at the word all the time would send it and the bytes
   * from one processor to the other for each copy, which costs several times the copy.
   */
  private static final int FIRST_SPIN = 8;

  private static final int LONGEST_SPIN = 64;

  static {
    try {
      WORD = MethodHandles.lookup().findVarHandle(InPlaceAccess.class, "word", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private volatile int word;

  // How many threads wait; guarded by this.
  private int waiters;

  /**
   * Begins a copy; {@link #leaveInPlace} follows. Waits for copies of other threads, however long:
   * to ask for work instead would make all others do so, one behind the other.
   *
   * @return whether it is allowed; if not, the caller asks for work
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
    return (seen & WRITER) == 0 && WORD.compareAndSet(this, seen, seen + READER);
  }

  private boolean enterToWrite(int seen) {
    return !isBusy(seen) && WORD.compareAndSet(this, seen, (seen & ~WANTED) | WRITER);
  }

  private static boolean isBusy(int seen) {
    return (seen & ~(ALLOWED | WANTED | WAITING)) != 0;
  }

  /** {@link #enterInPlace} of a thread that waits on the monitor whenever it may not begin. */
  private boolean enterLater(boolean writing) {
    boolean entered = false;
    boolean interrupted = false;
    synchronized (this) {
      waiters++;
      try {
        int seen = word;
        while (!entered && allows(seen, writing)) {
          entered = writing ? enterToWrite(seen) : enterToRead(seen);
          if (!entered && awaitEnd(seen, writing)) {
            interrupted |= pause();
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

  /** Asks the copy that ends last to wake a waiting thread; false if the word has changed. */
  private boolean awaitEnd(int seen, boolean writing) {
    return WORD.compareAndSet(this, seen, seen | WAITING | (writing ? WANTED : 0));
  }

  /** Waits to be woken; whether the thread was interrupted. The monitor is held. */
  @SuppressWarnings("WaitNotInLoop") // the caller loops
  private boolean pause() {
    try {
      wait();
      return false;
    } catch (InterruptedException e) {
      return true;
    }
  }

  /** Has the other waiting threads woken. The caller holds the monitor. */
  private void wakeNext(boolean atItsEnd) {
    if (waiters > 0) {
      if (atItsEnd) {
        WORD.getAndBitwiseOr(this, WAITING);
      } else {
        // It may read beside this thread, or must learn that nothing is allowed any more.
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

  /** Allows copies, as the state of the bytes is now; the storage's monitor is held. */
  public final void allow(boolean reads, boolean writes) {
    WORD.getAndBitwiseOr(this, (reads ? READABLE : 0) | (writes ? WRITABLE : 0));
  }

  /**
   * Allows no more copies, and returns when none is under way; the storage's monitor is held. Not
   * interruptible.
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
