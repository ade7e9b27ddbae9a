package dev.tidepool.pool.object;

import dev.tidepool.pool.ThreadStripe;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * The idle members of a pool: in slots, of which each stripe of threads has a few, and in a list
 * that all threads share.
 *
 * <p>A member keeps its slot while it is leased. So handing it out and returning it writes only the
 * member's own fields, and each slot in use is charged to the quota once. A member that is returned
 * without a slot takes the slot of a leased one, near the returning thread. So objects stay where
 * they are used, and leased members never deprive idle ones of a slot. The idle members never
 * exceed the quota. The shared list has a lock, which is held for a few loads and stores. No thread
 * waits or destroys an object while it holds the lock.
 *
 * <p>A slot may still refer to a member that has left it; the member's word and place decide.
 */
final class ObjectSlots<T> {
  /** The slots of a stripe: more than a thread usually leases, and few enough to search. */
  private static final int SLOTS = 8;

  /** The number of clocks in a cache line. */
  private static final int CLOCK_STRIDE = 8;

  /** After this many rounds of evictions for a returned member, that member is evicted instead. */
  private static final int MOST_ROUNDS = 16;

  private final IdleObjectOrder<T> order;
  private final IdleQuota quota;
  private final long charge;
  private final int stripes;
  private final int stripeBits;
  private final int slotMask;
  private final AtomicReferenceArray<@Nullable PooledObject<T>> slots;

  // One count of returns for each stripe, each on its own cache line. It orders the objects of one
  // stripe exactly, and those of two stripes approximately.
  private final long[] clocks;
  private final AtomicLong clock = new AtomicLong();

  private final TreeSet<PooledObject<T>> shared;
  private volatile boolean sharedEmpty = true;

  /**
   * Creates slots without members.
   *
   * @param charge the charge of each idle member
   */
  ObjectSlots(IdleObjectOrder<T> order, IdleQuota quota, long charge) {
    this.order = order;
    this.quota = quota;
    this.charge = charge;
    this.stripes = ThreadStripe.stripesOfPool();
    this.stripeBits = Integer.numberOfTrailingZeros(stripes);
    this.slotMask = stripes * SLOTS - 1;
    this.slots = new AtomicReferenceArray<>(stripes * SLOTS);
    this.clocks = new long[(stripes + 2) * CLOCK_STRIDE];
    this.shared = new TreeSet<>(order.ofShared());
  }

  /** Returns the first slot to search: in the caller's stripe, but different for its threads. */
  private int near() {
    int id = (int) Thread.currentThread().threadId();
    return (id * SLOTS + (id >>> stripeBits)) & slotMask;
  }

  /** Returns the time stamp of a member that is returned now. */
  long tick() {
    int own = (ThreadStripe.mine(stripes) + 1) * CLOCK_STRIDE;
    long tick = Math.max(clocks[own], clock.getOpaque()) + 1;
    // Threads of one stripe may overwrite each other's ticks. Two members are then equally old.
    clocks[own] = tick;
    return tick;
  }

  /** Advances the shared clock to the latest of the stripes' clocks. */
  void alignClocks() {
    long latest = 0;
    for (int i = 0; i < clocks.length; i += CLOCK_STRIDE) {
      latest = Math.max(latest, clocks[i]);
    }
    clock.accumulateAndGet(latest, Math::max);
  }

  /**
   * Takes an idle member, which the caller then owns. Searches the near slots, then the shared
   * list, then all slots.
   */
  @Nullable PooledObject<T> take() {
    int near = near();
    PooledObject<T> member = take(near, SLOTS);
    return member != null ? member : takeFar(near);
  }

  private @Nullable PooledObject<T> takeFar(int near) {
    PooledObject<T> member = sharedEmpty ? null : takeShared();
    return member != null ? member : take(near + SLOTS, slots.length());
  }

  private @Nullable PooledObject<T> take(int from, int count) {
    for (int n = 0; n < count; n++) {
      int i = (from + n) & slotMask;
      PooledObject<T> member = slots.getAcquire(i);
      if (member != null && member.tryOwnAt(i)) {
        return member;
      }
    }
    return null;
  }

  private synchronized @Nullable PooledObject<T> takeShared() {
    PooledObject<T> member = shared.pollLast();
    return member != null && ownShared(member) ? member : null;
  }

  private synchronized boolean takeShared(PooledObject<T> member) {
    return shared.remove(member) && ownShared(member);
  }

  private boolean ownShared(PooledObject<T> member) {
    sharedEmpty = shared.isEmpty();
    quota.discharge(charge);
    return member.tryOwnAt(PooledObject.NO_SLOT);
  }

  /** Takes this member if it is idle. */
  boolean take(PooledObject<T> member) {
    int place = member.place;
    return place == PooledObject.NO_SLOT ? takeShared(member) : member.tryOwnAt(place);
  }

  /** Ends the place of an owned member that will not be returned. */
  void vacate(PooledObject<T> member) {
    if (member.place != PooledObject.NO_SLOT) {
      slots.setRelease(member.place, null);
      member.place = PooledObject.NO_SLOT;
      quota.discharge(charge);
    }
  }

  /**
   * Makes an owned member idle if there is a place for it.
   *
   * @return the member that was evicted for it, which may be the member itself; the caller now owns
   *     it. Null if none was evicted.
   */
  @Nullable PooledObject<T> settle(PooledObject<T> member) {
    if (member.place != PooledObject.NO_SLOT) {
      member.settle(member.place);
      return null;
    }
    int near = near();
    if (settleInEmpty(member, near)
        || settleInstead(member, near, SLOTS)
        || settleShared(member)
        || settleInstead(member, near, slots.length())) {
      return null;
    }
    return evictFor(member);
  }

  private boolean settleInEmpty(PooledObject<T> member, int near) {
    for (int n = 0; n < SLOTS; n++) {
      int i = (near + n) & slotMask;
      if (slots.getAcquire(i) == null) {
        if (!quota.charge(charge)) {
          return false;
        }
        if (slots.compareAndSet(i, null, member)) {
          member.settle(i);
          return true;
        }
        quota.discharge(charge);
      }
    }
    return false;
  }

  /** Puts a member in the slot of a leased one. */
  private boolean settleInstead(PooledObject<T> member, int near, int count) {
    for (int n = 0; n < count; n++) {
      int i = (near + n) & slotMask;
      PooledObject<T> out = slots.getAcquire(i);
      if (out != null && out.tryDisplaceFrom(i)) {
        settleAt(i, member);
        return true;
      }
    }
    return false;
  }

  /** Puts a member in a slot that the caller owns. */
  private void settleAt(int slot, PooledObject<T> member) {
    slots.setRelease(slot, member);
    member.settle(slot);
  }

  private boolean settleShared(PooledObject<T> member) {
    if (!quota.charge(charge)) {
      return false;
    }
    synchronized (this) {
      addShared(member);
      sharedEmpty = false;
    }
    return true;
  }

  private synchronized void addShared(PooledObject<T> member) {
    member.sharedRank = order.rank(member);
    member.settle(PooledObject.NO_SLOT);
    shared.add(member);
  }

  private PooledObject<T> evictFor(PooledObject<T> member) {
    alignClocks();
    for (int round = 0; round < MOST_ROUNDS; round++) {
      PooledObject<T> first = firstToEvict();
      if (first == null || !order.yields(first, member)) {
        return member;
      }
      int slot = first.place;
      if (slot == PooledObject.NO_SLOT ? swapShared(first, member) : first.tryOwnAt(slot)) {
        if (slot != PooledObject.NO_SLOT) {
          settleAt(slot, member);
          first.place = PooledObject.NO_SLOT;
        }
        return first;
      }
    }
    return member;
  }

  /** Replaces the first member to evict of the shared list, if still first, by an owned one. */
  private synchronized boolean swapShared(PooledObject<T> first, PooledObject<T> member) {
    if (shared.isEmpty() || shared.first() != first) {
      return false;
    }
    shared.pollFirst();
    addShared(member);
    return first.tryOwnAt(PooledObject.NO_SLOT);
  }

  private @Nullable PooledObject<T> firstToEvict() {
    PooledObject<T> first = firstShared();
    for (int i = 0; i < slots.length(); i++) {
      PooledObject<T> member = slots.getAcquire(i);
      if (member != null
          && member.isIdle()
          && (first == null || order.compare(member, first) < 0)) {
        first = member;
      }
    }
    return first;
  }

  private synchronized @Nullable PooledObject<T> firstShared() {
    return shared.isEmpty() ? null : shared.first();
  }
}
