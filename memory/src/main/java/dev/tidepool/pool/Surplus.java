package dev.tidepool.pool;

import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongPredicate;

/**
 * Keeps what a pool holds near to what lives: before the source is asked for more, idle blocks go
 * back to it as far as the pool would otherwise hold a twelfth more than the most that ever lived.
 * An idle block of one class does not serve another, so a program that changes its sizes would else
 * hold the sum of what each phase needed.
 *
 * <p>What lives is not counted where blocks change hands, which would cost more than the rest of
 * that. It is told when the source is about to be asked, from what is held and what is charged; so
 * the most that ever lived is about the most that was seen then.
 *
 * <p>Each block that goes back may cost a call of the driver later. So a small pool is left alone,
 * and blocks that are small beside the excess, or beside what lives, stay: some of it may stay with
 * them. And once more blocks went than a small part of the requests, a program is taken to ask for
 * the same sizes in turns, and they stay.
 *
 * <p>Takes no lock. Threads that ask the source at once may each make the same room.
 */
final class Surplus {
  /** Bytes that a pool may hold whatever lives. */
  private static final long UNHEEDED = 8L << 20;

  /** One part in so many of the most that lived may be held beyond it. */
  private static final int PARTS = 12;

  /** Blocks that are less than one part in so many of the excess stay. */
  private static final int PARTS_OF_EXCESS = 64;

  /** And those that are less than one part in so many of the most that lived. */
  private static final int PARTS_OF_LIVE = 2048;

  /** After this many blocks that went, or that others took meanwhile, enough was done. */
  private static final int MOST_ROUNDS = 2 * PARTS_OF_EXCESS;

  /** Blocks may go as often as this, */
  private static final int FREE_EVICTIONS = 256;

  /** and once more for each so many requests. */
  private static final int REQUESTS_FOR_ONE = 64;

  /** Where no room could be made, one part in so many more is held before it is tried again. */
  private static final int PARTS_UNTIL_NEXT = 64;

  private final IdleBlocks idle;
  private final Ledger ledger;
  private final LongPredicate evict;
  private final AtomicLong mostLive = new AtomicLong();
  private final AtomicLong evictions = new AtomicLong();
  private volatile long affordable = FREE_EVICTIONS;
  private volatile long tolerated;

  /**
   * Nothing lived yet.
   *
   * @param evict gives the idle block that goes first, of those of at least so many bytes, back to
   *     the source; false if there is none
   */
  Surplus(IdleBlocks idle, Ledger ledger, LongPredicate evict) {
    this.idle = idle;
    this.ledger = ledger;
    this.evict = evict;
  }

  /** Gives idle blocks back, if the pool would hold too much with so many more bytes. */
  void makeRoomFor(long bytes) {
    long excess = excess(bytes);
    if (excess <= 0) {
      return;
    }
    long least = Math.max(excess / PARTS_OF_EXCESS, mostLive.get() / PARTS_OF_LIVE);
    for (int round = 0; excess > 0 && round < MOST_ROUNDS && evicts(least); round++) {
      excess = ledger.heldBytes() + bytes - allowed();
    }
    long held = ledger.heldBytes() + bytes;
    tolerated = excess > 0 ? held + held / PARTS_UNTIL_NEXT : 0;
  }

  private boolean evicts(long leastBytes) {
    if (evictions.get() >= affordable) {
      affordable = FREE_EVICTIONS + ledger.requests() / REQUESTS_FOR_ONE;
    }
    return evictions.get() < affordable
        && evict.test(leastBytes)
        && evictions.incrementAndGet() > 0;
  }

  /** Bytes that the pool would hold beyond what it may; none where that is tolerated. */
  private long excess(long bytes) {
    long held = ledger.heldBytes() + bytes;
    // What is charged is idle, or leased with its credit: first the bound that costs nothing.
    long charged = idle.chargedBytes();
    lives(held - charged);
    if (held <= Math.max(allowed(), tolerated)) {
      return 0;
    }
    lives(held - charged + leasedCredits());
    return held - allowed();
  }

  private void lives(long bytes) {
    // What others are about to free counts as well, for a moment.
    if (bytes > mostLive.get()) {
      mostLive.accumulateAndGet(bytes, Math::max);
    }
  }

  private long allowed() {
    long most = mostLive.get();
    return Math.max(UNHEEDED, most + most / PARTS);
  }

  private long leasedCredits() {
    long bytes = 0;
    for (int sizeClass = 0; sizeClass < SizeClasses.COUNT; sizeClass++) {
      if (ledger.hasMissed(sizeClass)) {
        bytes += idle.leasedCredits(sizeClass);
      }
    }
    return bytes;
  }
}
