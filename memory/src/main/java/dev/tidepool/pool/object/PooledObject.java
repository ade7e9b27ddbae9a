package dev.tidepool.pool.object;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * An object that a pool made, from its creation to its destruction, and whose it is.
 *
 * <p><b>Ownership.</b> One word tells it, and changes hands by compare-and-set alone: how often the
 * object was handed out, and its status. An <i>idle</i> member lies in a place of the pool. An
 * <i>owned</i> one is its owning thread's, within the pool. A <i>leased</i> one is a user's, and
 * its place is kept free for its return. A <i>displaced</i> one is a user's too, but has no place:
 * it never had one, or another object that came back took it. Because each lease has a number, a
 * stale compare-and-set fails even where the same object is out again; and where it came back
 * without its place, the word says that too, so that no word comes again with another slot.
 *
 * <p>A read of a word that was just exchanged waits until the exchange is over, as long as the
 * exchange itself took. So the next word is kept beside it: a hint of the word that a member lies
 * idle with, for the thread that takes it, and the owner's word after that. A wrong hint costs a
 * failed exchange.
 *
 * <p>The other fields are written by the owner, or by the user's thread on the way back, before the
 * word is. A thread that reads them without owning the member treats them as a hint, or reads the
 * word before and exchanges it after that.
 */
final class PooledObject<T> {
  private static final VarHandle WORD;
  private static final VarHandle HINT;

  static {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      WORD = lookup.findVarHandle(PooledObject.class, "word", long.class);
      HINT = lookup.findVarHandle(PooledObject.class, "hint", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /** The {@link #place} of members that lie in no slot. */
  static final int NO_SLOT = -1;

  private static final long STATUS = 3;
  private static final long IDLE = 0;
  private static final long OWNED = 1;
  private static final long LEASED = 2;
  private static final long DISPLACED = 3;

  /** Whether it came back without its place since it was leased. */
  private static final long MOVED = 4;

  private static final int LEASES_SHIFT = 3;
  private static final long ONE_LEASE = 1L << LEASES_SHIFT;

  /** No idle member's word. */
  private static final long NO_HINT = -1;

  final T object;

  /** In order of creation. */
  final long number;

  final long createdNanos;

  /** Its slot; right while it is idle, owned or leased. */
  int place = NO_SLOT;

  /** The pool's clock when it came back last, or when a thread tried to return it once more. */
  long returnedTick;

  /** What it is ordered by while it lies on the shared list. Written by its owner alone. */
  long sharedRank;

  /** How often it had been leased when maintenance first saw it so, and when that was. */
  long seenLeases;

  long seenNanos;

  private volatile long word = OWNED;

  /** The word while it is owned. Only the owner uses it. */
  private long owned = OWNED;

  /** The word that it is or will be idle with, perhaps. Read before its {@link #place}. */
  @SuppressWarnings("unused") // through HINT
  private long hint = NO_HINT;

  // These are unused: they keep what two threads write off one cache line, which halved the time
  // of a return.
  long pad1;
  long pad2;
  long pad3;
  long pad4;
  long pad5;
  long pad6;
  long pad7;
  long pad8;

  /** Creates a member that its creator owns. */
  PooledObject(T object, long number, long createdNanos) {
    this.object = object;
    this.number = number;
    this.createdNanos = createdNanos;
    this.seenNanos = createdNanos;
  }

  /**
   * Returns its status and the number of its lease; what the methods below take as {@code seen}.
   */
  long word() {
    return word;
  }

  /** Returns how often it was handed out. */
  long leases() {
    return word >>> LEASES_SHIFT;
  }

  boolean isIdle() {
    return (word & STATUS) == IDLE;
  }

  /** Returns whether a user has the object, by what was seen. */
  static boolean isOut(long seen) {
    return (seen & STATUS) >= LEASED;
  }

  /** Returns whether it is out, without owning it. */
  boolean isOut() {
    return isOut(word);
  }

  /** Returns whether the lease that was seen lasts. */
  boolean isOutBy(long seen) {
    long now = word;
    return isOut(now) && now >>> LEASES_SHIFT == seen >>> LEASES_SHIFT;
  }

  /** Idle to owned, if it lies in that place. */
  boolean tryOwnAt(int slot) {
    return tryOwnAt(slot, (long) HINT.getAcquire(this)) || tryOwnAt(slot, word);
  }

  private boolean tryOwnAt(int slot, long seen) {
    // The place is right if the word is what was seen when it is exchanged.
    if ((seen & STATUS) != IDLE || place != slot || !WORD.compareAndSet(this, seen, seen | OWNED)) {
      return false;
    }
    owned = seen | OWNED;
    return true;
  }

  /** Owned to leased; the lease's word. The owner only. */
  long lease() {
    long leased = (owned & ~(STATUS | MOVED)) + ONE_LEASE + (place == NO_SLOT ? DISPLACED : LEASED);
    HINT.setOpaque(this, NO_HINT);
    WORD.setRelease(this, leased);
    return leased;
  }

  /** Owned to idle, in that place. The owner only. */
  void settle(int slot) {
    place = slot;
    HINT.setRelease(this, owned & ~STATUS);
    WORD.setVolatile(this, owned & ~STATUS);
  }

  /** Leased to idle in its own place; false if it has none, or that lease has ended. */
  boolean tryReturn(long seen) {
    if ((seen & STATUS) != LEASED) {
      return false;
    }
    HINT.setRelease(this, seen & ~STATUS);
    return WORD.compareAndSet(this, seen, seen & ~STATUS);
  }

  /** Leased or displaced to owned; false if the lease that was seen has ended. */
  boolean tryTakeBack(long seen) {
    long back = (seen & ~STATUS) | OWNED;
    long displaced = seen | DISPLACED;
    if ((seen & STATUS) == LEASED && WORD.compareAndSet(this, seen, back)) {
      owned = back;
      return true;
    }
    if (isOut(seen) && WORD.compareAndSet(this, displaced, back | MOVED)) {
      owned = back | MOVED;
      place = NO_SLOT;
      return true;
    }
    return false;
  }

  /** Leased to displaced: that slot is the caller's now. False if it was not this member's. */
  boolean tryDisplaceFrom(int slot) {
    long seen = word;
    return (seen & STATUS) == LEASED
        && place == slot
        && WORD.compareAndSet(this, seen, seen | DISPLACED);
  }
}
