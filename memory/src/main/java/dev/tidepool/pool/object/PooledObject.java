package dev.tidepool.pool.object;

import dev.tidepool.spi.support.FieldHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * An object that a pool created, from creation to destruction, and the state of its ownership.
 *
 * <p><b>Ownership.</b> One word, which changes by compare-and-set, holds the status and how often
 * the object was handed out. An <i>idle</i> member has a place in the pool. An <i>owned</i> member
 * belongs to a thread inside the pool. A <i>leased</i> member belongs to a user, and its slot is
 * kept for its return. A <i>displaced</i> member belongs to a user too, but has no slot: it never
 * had one, or another returned object took it. Each lease has a number, so a stale compare-and-set
 * fails even if the same object is leased again. If the object was returned without its slot, the
 * word records that too, so that no word occurs again with another slot.
 *
 * <p>A read of a word just after its exchange waits until the exchange is complete, as long as the
 * exchange itself took. So the next word is kept next to it. {@code hint} is the word that the
 * member probably has while idle, for the thread that takes it. {@code owned} is the owner's word
 * after that. A wrong hint costs a failed exchange.
 *
 * <p>The owner writes the other fields, or the returning user's thread before it changes the word.
 * A thread that reads them without owning the member uses them as hints, or reads the word before
 * and exchanges it afterwards.
 */
final class PooledObject<T> {
  private static final VarHandle WORD = FieldHandle.of(MethodHandles.lookup(), "word", long.class);
  private static final VarHandle HINT = FieldHandle.of(MethodHandles.lookup(), "hint", long.class);

  /** The {@link #place} of members without a slot. */
  static final int NO_SLOT = -1;

  private static final long STATUS = 3;
  private static final long IDLE = 0;
  private static final long OWNED = 1;
  private static final long LEASED = 2;
  private static final long DISPLACED = 3;

  /** Whether the object was returned without its slot since it was leased. */
  private static final long MOVED = 4;

  private static final int LEASES_SHIFT = 3;
  private static final long ONE_LEASE = 1L << LEASES_SHIFT;

  /** Never the word of an idle member. */
  private static final long NO_HINT = -1;

  final T object;

  /** Increases in the order of creation. */
  final long number;

  final long createdNanos;

  /** The slot. Correct while the member is idle, owned or leased. */
  int place = NO_SLOT;

  /** The pool's clock at the last return, or at a later attempt to return the object again. */
  long returnedTick;

  /** The rank on the shared list. Written only by the owner. */
  long sharedRank;

  /** The number of leases that maintenance last saw, and the time when it first saw that number. */
  long seenLeases;

  long seenNanos;

  private volatile long word = OWNED;

  /** The word while the member is owned. Used only by the owner. */
  private long owned = OWNED;

  /** The word that the member probably has while idle. Read before {@link #place}. */
  @SuppressWarnings("unused") // through HINT
  private long hint = NO_HINT;

  // Unused: they separate the fields that two threads write by a cache line, which halved the time
  // of a return.
  long pad1;
  long pad2;
  long pad3;
  long pad4;
  long pad5;
  long pad6;
  long pad7;
  long pad8;

  /** Creates a member that the calling thread owns. */
  PooledObject(T object, long number, long createdNanos) {
    this.object = object;
    this.number = number;
    this.createdNanos = createdNanos;
    this.seenNanos = createdNanos;
  }

  /** Returns the status and the lease's number, for the parameter {@code seen} below. */
  long word() {
    return word;
  }

  /** Returns how often the object was handed out. */
  long leases() {
    return word >>> LEASES_SHIFT;
  }

  boolean isIdle() {
    return (word & STATUS) == IDLE;
  }

  /** Returns whether a user has the object, according to a word. */
  static boolean isOut(long seen) {
    return (seen & STATUS) >= LEASED;
  }

  /** Returns whether a user has the object. The caller need not own it. */
  boolean isOut() {
    return isOut(word);
  }

  /** Returns whether the lease of this word has not ended. */
  boolean isOutBy(long seen) {
    long now = word;
    return isOut(now) && now >>> LEASES_SHIFT == seen >>> LEASES_SHIFT;
  }

  /** Changes idle to owned if the member is in this place. */
  boolean tryOwnAt(int slot) {
    return tryOwnAt(slot, (long) HINT.getAcquire(this)) || tryOwnAt(slot, word);
  }

  private boolean tryOwnAt(int slot, long seen) {
    // If the exchange succeeds, the word has not changed since, so the place was correct.
    if ((seen & STATUS) != IDLE || place != slot || !WORD.compareAndSet(this, seen, seen | OWNED)) {
      return false;
    }
    owned = seen | OWNED;
    return true;
  }

  /** Changes owned to leased and returns the lease's word. Only the owner may call this. */
  long lease() {
    long leased = (owned & ~(STATUS | MOVED)) + ONE_LEASE + (place == NO_SLOT ? DISPLACED : LEASED);
    HINT.setOpaque(this, NO_HINT);
    WORD.setRelease(this, leased);
    return leased;
  }

  /** Changes owned to idle in this place. Only the owner may call this. */
  void settle(int slot) {
    place = slot;
    HINT.setRelease(this, owned & ~STATUS);
    WORD.setVolatile(this, owned & ~STATUS);
  }

  /** Changes leased to idle in its slot. Returns false without a slot or after the lease's end. */
  boolean tryReturn(long seen) {
    if ((seen & STATUS) != LEASED) {
      return false;
    }
    HINT.setRelease(this, seen & ~STATUS);
    return WORD.compareAndSet(this, seen, seen & ~STATUS);
  }

  /** Changes leased or displaced to owned. Returns false if that lease has ended. */
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

  /** Changes leased to displaced: the caller owns the slot. Returns false if in another slot. */
  boolean tryDisplaceFrom(int slot) {
    long seen = word;
    return (seen & STATUS) == LEASED
        && place == slot
        && WORD.compareAndSet(this, seen, seen | DISPLACED);
  }
}
