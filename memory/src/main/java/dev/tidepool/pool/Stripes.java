package dev.tidepool.pool;

import dev.tidepool.EvictionPolicy;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A few blocks of each class for each stripe of threads, where a thread finds again what it gave
 * back before, and meets no other.
 *
 * <p>A block belongs to the stripe of the thread that it was allocated for, or of the first that
 * found room for it, and goes back there whoever gives it back: a consumer that closes what a
 * producer allocates feeds the producer.
 */
final class Stripes {
  private static final VarHandle ELEMENT = MethodHandles.arrayElementVarHandle(Board[][].class);

  /** Blocks of a class that a stripe has at most. */
  private static final int PLACES = 4;

  /** From this size on, a stripe has fewer blocks. */
  private static final long LARGE_FROM = 1L << 20;

  private static final int LARGE_PLACES = 2;

  private final @Nullable Board[][] stripes;

  Stripes(int processors) {
    stripes = new Board[Striping.stripes(Math.clamp(processors, 1, 32))][];
  }

  /** The caller's board of a class; null if its stripe has none yet. */
  private @Nullable Board mine(int sizeClass) {
    Board[] boards = (Board[]) ELEMENT.getAcquire(stripes, stripe());
    return boards == null ? null : boards[sizeClass];
  }

  private int stripe() {
    return Striping.mine(stripes.length);
  }

  /** Takes an idle block of the caller's stripe. */
  @Nullable PooledBlock take(int sizeClass) {
    Board board = mine(sizeClass);
    return board == null ? null : board.take();
  }

  /** Takes an idle block of any stripe. */
  @Nullable PooledBlock steal(int sizeClass) {
    for (int i = 0; i < stripes.length; i++) {
      Board[] boards = (Board[]) ELEMENT.getAcquire(stripes, i);
      PooledBlock block = boards == null ? null : boards[sizeClass].take();
      if (block != null) {
        return block;
      }
    }
    return null;
  }

  /** Whether the caller's stripe has a free place for a block of a class. */
  boolean hasRoom(int sizeClass) {
    Board board = mine(sizeClass);
    return board == null || board.hasRoom();
  }

  /**
   * Gives a block, which its caller owns, a place in the caller's stripe; false if all are taken.
   */
  boolean settle(PooledBlock block) {
    Board board = mine(block.sizeClass);
    if (board == null) {
      equip(stripe());
      board = mine(block.sizeClass);
    }
    return board != null && board.settle(block);
  }

  /** All boards of a stripe at once, so that they lie side by side, away from other stripes'. */
  private void equip(int stripe) {
    Board[] boards = new Board[SizeClasses.COUNT];
    for (int i = 0; i < boards.length; i++) {
      boards[i] = new Board(SizeClasses.bytesOf(i) < LARGE_FROM ? PLACES : LARGE_PLACES);
    }
    ELEMENT.compareAndSet(stripes, stripe, null, boards);
  }

  /** The block that goes first, of those of a class that seem idle and the best so far. */
  @Nullable PooledBlock firstToGo(
      int sizeClass, EvictionPolicy policy, @Nullable PooledBlock best) {
    PooledBlock first = best;
    for (int i = 0; i < stripes.length; i++) {
      Board[] boards = (Board[]) ELEMENT.getAcquire(stripes, i);
      if (boards != null) {
        first = boards[sizeClass].firstToGo(PLACES, policy, first);
      }
    }
    return first;
  }

  /** Shows blocks of a class that seem taken; whether any of them was what is looked for. */
  boolean anyTaken(int sizeClass, Predicate<PooledBlock> action) {
    boolean any = false;
    for (int i = 0; i < stripes.length; i++) {
      Board[] boards = (Board[]) ELEMENT.getAcquire(stripes, i);
      if (boards != null) {
        any |= boards[sizeClass].anyTaken(action);
      }
    }
    return any;
  }
}
