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
 * under the storage's monitor, and waits for the copies that have begun. A copy in place takes no
 * lock and waits for other copies only, so that wait is short.
 *
 * <p>Reads run side by side; a write is alone.
 */
abstract class InPlaceAccess {
  private static final VarHandle WORD;

  /** Bits of the word: what is allowed, and whether a copy writes; above them the reads. */
  private static final int READABLE = 1;

  private static final int WRITABLE = 2;
  private static final int WRITER = 4;

  /** A write waits for reads to end, so no further ones begin. */
  private static final int WANTED = 8;

  private static final int READER = 16;
  private static final int ALLOWED = READABLE | WRITABLE;

  /** After so many tries a write keeps further reads off. */
  private static final int PATIENCE = 32;

  static {
    try {
      WORD = MethodHandles.lookup().findVarHandle(InPlaceAccess.class, "word", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private volatile int word;

  /**
   * Begins a copy; {@link #leaveInPlace} follows. Waits a moment for copies of other threads.
   *
   * @return whether it is allowed; if not, the caller asks for work
   */
  public final boolean enterInPlace(boolean writing) {
    int allowed = writing ? WRITABLE : READABLE;
    for (int tries = 0; ; tries++) {
      int seen = word;
      if ((seen & allowed) == 0) {
        return false;
      }
      if (writing ? enterToWrite(seen, tries) : enterToRead(seen)) {
        return true;
      }
      try {
        // However long: to ask for work instead would make all others do so, one behind the other.
        ShortWait.pause(tries % ShortWait.TRIES);
      } catch (Throwable e) {
        // A thread that goes must not keep reads off.
        WORD.getAndBitwiseAnd(this, ~WANTED);
        throw e;
      }
    }
  }

  private boolean enterToRead(int seen) {
    return (seen & (WRITER | WANTED)) == 0 && WORD.compareAndSet(this, seen, seen + READER);
  }

  private boolean enterToWrite(int seen, int tries) {
    if ((seen & ~(ALLOWED | WANTED)) == 0) {
      return WORD.compareAndSet(this, seen, (seen & ~WANTED) | WRITER);
    }
    if (tries >= PATIENCE && (seen & WANTED) == 0) {
      WORD.compareAndSet(this, seen, seen | WANTED);
    }
    return false;
  }

  public final void leaveInPlace(boolean writing) {
    WORD.getAndAdd(this, writing ? -WRITER : -READER);
  }

  /** Whether {@link #enterInPlace} may succeed. */
  public final boolean isAllowed(boolean writing) {
    return (word & (writing ? WRITABLE : READABLE)) != 0;
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
    WORD.getAndBitwiseAnd(this, ~(ALLOWED | WANTED));
    for (int tries = 0; word != 0; tries++) {
      ShortWait.pause(tries);
    }
  }
}
