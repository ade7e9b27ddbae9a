package dev.tidepool.pool.block;

import dev.tidepool.pooling.EvictionPolicy;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * Up to 64 places for blocks of one class, and one bit for each that says whether its block is
 * idle.
 *
 * <p>A block keeps its place while it changes hands; what changes is the bit. The thread that
 * clears it owns the block alone until it is set again: one atomic operation takes a block, one
 * puts it back, on any thread, and neither waits, allocates or fails.
 */
final class SlotBitmap {
  /** As many as a word has bits. */
  private static final int PLACES = Long.SIZE;

  private static final VarHandle IDLE;

  static {
    try {
      IDLE = MethodHandles.lookup().findVarHandle(SlotBitmap.class, "idle", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private volatile long idle;

  private final int index;

  /** Written when a block is settled at a place, before its bit is set for the first time. */
  private final @Nullable PooledBlock[] places = new PooledBlock[PLACES];

  // Which places have a block; guarded by this.
  private long used;

  /** The next one of its shared list with a free place; guarded by the shared list. */
  @Nullable SlotBitmap nextNotFull;

  /** Creates the bitmap of a shared list with that number, from 0. */
  SlotBitmap(int index) {
    this.index = index;
  }

  /** Returns its number on its shared list. */
  int index() {
    return index;
  }

  /** The number of the bitmap that a place of the shared list is on. */
  static int indexOf(int place) {
    return place / PLACES;
  }

  /** Returns the bit of a place of the shared list, on its bitmap. */
  static long bitOf(int place) {
    return 1L << place;
  }

  /** Gives a block, which its caller owns, a place; false if all are taken. */
  synchronized boolean settle(PooledBlock block) {
    int free = Long.numberOfTrailingZeros(~used);
    if (free == PLACES) {
      return false;
    }
    used |= bitOf(free);
    places[free] = block;
    block.settled(this, index * PLACES + free);
    return true;
  }

  /** Returns whether all places are taken. */
  synchronized boolean isFull() {
    return Long.bitCount(used) == PLACES;
  }

  /** Ends the place of a block, which its caller owns; returns whether all places were taken. */
  synchronized boolean vacate(PooledBlock block) {
    boolean full = isFull();
    used &= ~block.bit();
    places[Long.numberOfTrailingZeros(block.bit())] = null;
    return full;
  }

  /** Takes any idle block. */
  @Nullable PooledBlock take() {
    long now = idle;
    while (now != 0) {
      long bit = Long.lowestOneBit(now);
      if (IDLE.compareAndSet(this, now, now & ~bit)) {
        return at(bit);
      }
      now = idle;
    }
    return null;
  }

  /** Takes an idle block of exactly so many bytes, where sizes differ. */
  @Nullable PooledBlock takeOf(long bytes) {
    for (long left = idle; left != 0; left &= left - 1) {
      long bit = Long.lowestOneBit(left);
      PooledBlock seen = at(bit);
      if (seen != null && seen.bytes == bytes && take(bit)) {
        // The place may have a new block since.
        PooledBlock block = at(bit);
        if (block != null && block.bytes == bytes) {
          return block;
        }
        put(bit);
      }
    }
    return null;
  }

  /** Takes what is idle in a place; false if nothing is. */
  boolean take(long bit) {
    long now = idle;
    while ((now & bit) != 0) {
      if (IDLE.compareAndSet(this, now, now & ~bit)) {
        return true;
      }
      now = idle;
    }
    return false;
  }

  /** Puts the block of a place down; what was idle before, as bits. */
  long put(long bit) {
    long now = idle;
    while (!IDLE.compareAndSet(this, now, now | bit)) {
      now = idle;
    }
    return now;
  }

  boolean isIdle(long bit) {
    return (idle & bit) != 0;
  }

  boolean isEmpty() {
    return idle == 0;
  }

  /** Returns how many blocks are idle now. */
  int idleBlocks() {
    return Long.bitCount(idle);
  }

  /** Returns the block to evict first, of a number of those that seem idle and the best so far. */
  @Nullable PooledBlock firstToEvict(int most, EvictionPolicy policy, @Nullable PooledBlock best) {
    PooledBlock first = best;
    int more = most;
    for (long left = idle; left != 0 && more > 0; left &= left - 1) {
      PooledBlock block = at(left);
      if (block != null && block.isEvictedBefore(first, policy)) {
        first = block;
      }
      more--;
    }
    return first;
  }

  /**
   * Returns the block of a place. Unless the caller has taken it, another thread may take or free
   * it at any time.
   */
  @Nullable PooledBlock at(long bit) {
    return places[Long.numberOfTrailingZeros(bit)];
  }
}
