package dev.tidepool.pool.block;

import dev.tidepool.pool.SizeClasses;
import dev.tidepool.pool.ThreadStripe;
import dev.tidepool.pooling.EvictionPolicy;
import dev.tidepool.spi.support.FieldHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A few blocks of each class for each stripe of threads. A thread finds blocks there that it
 * returned earlier, without contention with threads of other stripes.
 *
 * <p>A block belongs to the stripe of the thread for which it was allocated, or of the first thread
 * with a free place. Any thread returns it to that stripe, so a producer gets the blocks again that
 * a consumer closes.
 *
 * <p>A block keeps its place while it is leased. One word of the block says whether it is idle, and
 * which dormant tenant has it. So one exchange takes the block from such a tenant and makes it
 * idle, and nothing else is written. A thread that takes a block follows a chain of loads, which
 * cannot begin before the previous exchange is complete. So a stripe is a plain array with the
 * places of one class after another.
 */
final class ThreadStripes {
  private static final VarHandle PLACES_OF_ALL =
      FieldHandle.of(MethodHandles.lookup(), "places", PooledBlock[].class);

  /** The most blocks of a class in a stripe. A search for an idle block reads all of them. */
  private static final int PLACES = 4;

  /** From this size on, a stripe has fewer places. */
  private static final long LARGE_FROM = 1L << 20;

  private static final int LARGE_PLACES = 2;

  private final int count = ThreadStripe.stripesOfPool();

  // The places of all stripes, or null while no block has one. Written under the monitor of the
  // array and read without it: the word of the block decides.
  private volatile @Nullable PooledBlock @Nullable [] places;

  private int mine() {
    return ThreadStripe.mine(count);
  }

  private static int first(int stripe, int sizeClass) {
    // The places beyond all classes are never used.
    return (stripe * SizeClasses.COUNT_WITH_BEYOND + sizeClass) * PLACES;
  }

  private static int end(int stripe, int sizeClass) {
    return first(stripe, sizeClass)
        + (SizeClasses.bytesOf(sizeClass) < LARGE_FROM ? PLACES : LARGE_PLACES);
  }

  /** Returns a block of the caller's stripe that seems idle, or null if there is none. */
  @Nullable PooledBlock seen(int sizeClass) {
    @Nullable PooledBlock[] known = places;
    if (known == null) {
      return null;
    }
    int first = first(mine(), sizeClass);
    PooledBlock block = known[first];
    return block != null && block.isLaidDown() ? block : seenBehind(known, first);
  }

  private static @Nullable PooledBlock seenBehind(@Nullable PooledBlock[] known, int first) {
    for (int i = first + 1; i < first + PLACES; i++) {
      PooledBlock block = known[i];
      if (block != null && block.isLaidDown()) {
        return block;
      }
    }
    return null;
  }

  /** Takes an idle block of the caller's stripe. */
  @Nullable PooledBlock take(int sizeClass) {
    return take(mine(), sizeClass);
  }

  private @Nullable PooledBlock take(int stripe, int sizeClass) {
    @Nullable PooledBlock[] known = places;
    if (known == null) {
      return null;
    }
    int first = first(stripe, sizeClass);
    for (int i = first; i < first + PLACES; i++) {
      PooledBlock block = known[i];
      if (block != null && block.takeUp()) {
        return block;
      }
    }
    return null;
  }

  /** Takes an idle block of any stripe. */
  @Nullable PooledBlock steal(int sizeClass) {
    for (int i = 0; i < count; i++) {
      PooledBlock block = take(i, sizeClass);
      if (block != null) {
        return block;
      }
    }
    return null;
  }

  /** Returns whether the caller's stripe has a free place for a class. Allocates the places. */
  boolean hasRoom(int sizeClass) {
    return freePlace(equipped(), mine(), sizeClass) >= 0;
  }

  private static int freePlace(@Nullable PooledBlock[] known, int stripe, int sizeClass) {
    for (int i = first(stripe, sizeClass); i < end(stripe, sizeClass); i++) {
      if (known[i] == null) {
        return i;
      }
    }
    return -1;
  }

  /**
   * Gives a block that the caller owns a place in the caller's stripe. Returns false if all are
   * taken.
   */
  boolean settle(PooledBlock block) {
    int stripe = mine();
    @Nullable PooledBlock[] known = equipped();
    synchronized (known) {
      int place = freePlace(known, stripe, block.sizeClass);
      if (place < 0) {
        return false;
      }
      known[place] = block;
      block.settled(stripe);
      return true;
    }
  }

  private @Nullable PooledBlock[] equipped() {
    @Nullable PooledBlock[] known = places;
    if (known != null) {
      return known;
    }
    @Nullable PooledBlock[] fresh = new PooledBlock[first(count, 0)];
    known = (PooledBlock[]) PLACES_OF_ALL.compareAndExchange(this, null, fresh);
    return known == null ? fresh : known;
  }

  /** Moves a block that the caller owns to the caller's stripe, if that has a free place. */
  void bring(PooledBlock block) {
    int from = block.stripe();
    if (from != mine() && settle(block)) {
      vacate(block, from);
    }
  }

  /** Ends the place of a block that the caller owns. */
  void vacate(PooledBlock block) {
    vacate(block, block.stripe());
  }

  @SuppressWarnings("ReferenceEquality") // the very block is meant
  private void vacate(PooledBlock block, int stripe) {
    @Nullable PooledBlock[] known = equipped();
    synchronized (known) {
      for (int i = first(stripe, block.sizeClass); i < end(stripe, block.sizeClass); i++) {
        if (known[i] == block) {
          known[i] = null;
        }
      }
    }
  }

  /** Returns the first block to evict, of the idle blocks of a class and the best so far. */
  @Nullable PooledBlock firstToEvict(
      int sizeClass, EvictionPolicy policy, @Nullable PooledBlock best) {
    PooledBlock chosen = best;
    @Nullable PooledBlock[] known = places;
    for (int stripe = 0; known != null && stripe < count; stripe++) {
      for (int i = first(stripe, sizeClass); i < end(stripe, sizeClass); i++) {
        PooledBlock block = known[i];
        if (block != null && block.isLaidDown() && block.isEvictedBefore(chosen, policy)) {
          chosen = block;
        }
      }
    }
    return chosen;
  }

  /** Tests the blocks of a class that seem taken. Returns whether any test succeeded. */
  boolean anyTaken(int sizeClass, Predicate<PooledBlock> action) {
    boolean any = false;
    @Nullable PooledBlock[] known = places;
    for (int stripe = 0; known != null && stripe < count; stripe++) {
      for (int i = first(stripe, sizeClass); i < end(stripe, sizeClass); i++) {
        PooledBlock block = known[i];
        if (block != null && !block.isLaidDown()) {
          any |= action.test(block);
        }
      }
    }
    return any;
  }
}
