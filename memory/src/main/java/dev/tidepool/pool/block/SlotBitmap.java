package dev.tidepool.pool.block;

import dev.tidepool.pooling.EvictionPolicy;
import dev.tidepool.spi.support.FieldHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * Up to 64 places for blocks of one class, with one bit for each that says whether its block is
 * idle.
 *
 * <p>A block keeps its place while its owners change; only the bit changes. The thread that clears
 * the bit owns the block alone until the bit is set again. One atomic operation takes a block, one
 * returns it, on any thread. Neither waits, allocates or fails.
 */
final class SlotBitmap {
  /** The number of bits of a word. */
  private static final int PLACES = Long.SIZE;

  private static final VarHandle IDLE = FieldHandle.of(MethodHandles.lookup(), "idle", long.class);

  private volatile long idle;

  private final int index;

  /** Written when a block gets its place, before its bit is set for the first time. */
  private final @Nullable PooledBlock[] places = new PooledBlock[PLACES];

  // The places that have a block, as bits. Guarded by this.
  private long used;

  /** The next bitmap of its shared list with a free place. Guarded by the shared list. */
  @Nullable SlotBitmap nextNotFull;

  /** Creates the bitmap of a shared list with this number, from 0. */
  SlotBitmap(int index) {
    this.index = index;
  }

  /** Returns the number of this bitmap on its shared list. */
  int index() {
    return index;
  }

  /** Returns the number of the bitmap that has a place of the shared list. */
  static int indexOf(int place) {
    return place / PLACES;
  }

  /** Returns the bit of a place of the shared list in its bitmap. */
  static long bitOf(int place) {
    return 1L << place;
  }

  /** Gives a place to a block that the caller owns. Returns false if all places are taken. */
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

  /** Ends the place of a block that the caller owns. Returns whether the bitmap was full. */
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

  /** Takes an idle block of exactly this size, from a list of different sizes. */
  @Nullable PooledBlock takeOf(long bytes) {
    for (long left = idle; left != 0; left &= left - 1) {
      long bit = Long.lowestOneBit(left);
      PooledBlock seen = at(bit);
      if (seen != null && seen.bytes == bytes && take(bit)) {
        // The place may have a new block meanwhile.
        PooledBlock block = at(bit);
        if (block != null && block.bytes == bytes) {
          return block;
        }
        put(bit);
      }
    }
    return null;
  }

  /** Takes the block of a place. Returns false if it is not idle. */
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

  /** Makes the block of a place idle. Returns the bits of the blocks that were idle before. */
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

  /** Returns the number of idle blocks. */
  int idleBlocks() {
    return Long.bitCount(idle);
  }

  /** Returns the first block to evict, of a number of idle blocks and the best so far. */
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
