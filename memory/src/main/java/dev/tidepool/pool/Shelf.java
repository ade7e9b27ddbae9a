package dev.tidepool.pool;

import dev.tidepool.EvictionPolicy;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * The blocks of one class that belong to no stripe: boards, in sections of 64, each with a word
 * that says which boards may have an idle block.
 *
 * <p>Taking and putting down are atomic operations on two words at most. Only the coming and going
 * of blocks as such, behind a driver's call, takes the shelf's monitor.
 */
final class Shelf {
  private volatile Section[] sections = new Section[0];

  /** The section where a block was put down last; a hint. */
  private int likely;

  // Boards with a free place; guarded by this.
  private final Deque<Spot> roomy = new ArrayDeque<>();

  /** A board in its section. */
  private record Spot(Section section, int index, Board board) {}

  /** 64 boards. */
  private static final class Section {
    private static final VarHandle HINTS;

    static {
      try {
        HINTS = MethodHandles.lookup().findVarHandle(Section.class, "hints", long.class);
      } catch (ReflectiveOperationException e) {
        throw new ExceptionInInitializerError(e);
      }
    }

    final int number;
    final @Nullable Board[] boards = new Board[Board.MOST_PLACES];
    int used;

    /** A bit for each board that may have an idle block: set for all that have. */
    private volatile long hints;

    Section(int number) {
      this.number = number;
    }

    void hint(int index) {
      long bit = 1L << index;
      long now = hints;
      while ((now & bit) == 0 && !HINTS.compareAndSet(this, now, now | bit)) {
        now = hints;
      }
    }

    @Nullable PooledBlock take() {
      for (long left = hints; left != 0; left &= left - 1) {
        int index = Long.numberOfTrailingZeros(left);
        PooledBlock block = takeFrom(index);
        if (block != null) {
          return block;
        }
      }
      return null;
    }

    private @Nullable PooledBlock takeFrom(int index) {
      Board board = boards[index];
      if (board == null) {
        return null;
      }
      PooledBlock block = board.take();
      if (block == null) {
        lower(index);
        // A block that was put down before the hint was lowered must not be forgotten.
        if (!board.isEmpty()) {
          hint(index);
          block = board.take();
        }
      }
      return block;
    }

    private void lower(int index) {
      long now = hints;
      while (!HINTS.compareAndSet(this, now, now & ~(1L << index))) {
        now = hints;
      }
    }
  }

  /** Takes any idle block. */
  @Nullable PooledBlock take() {
    Section[] all = sections;
    int first = likely;
    for (int i = 0; i < all.length; i++) {
      Section section = all[(first + i) % all.length];
      PooledBlock block = section.take();
      if (block != null) {
        return block;
      }
    }
    return null;
  }

  /** Takes an idle block of exactly so many bytes, on the shelf of many sizes. */
  @Nullable PooledBlock takeOf(long bytes) {
    for (Section section : sections) {
      for (Board board : section.boards) {
        PooledBlock block = board == null ? null : board.takeOf(bytes);
        if (block != null) {
          return block;
        }
      }
    }
    return null;
  }

  /** Puts a block down that has its place here. */
  void put(PooledBlock block) {
    Spot spot = (Spot) block.spot();
    if (spot.board().put(block.bit()) == 0) {
      spot.section().hint(spot.index());
      likely = spot.section().number;
    }
  }

  /** Gives a block, which its caller owns, a place. */
  synchronized void settle(PooledBlock block) {
    for (; ; ) {
      Spot spot = roomy.peek();
      if (spot == null) {
        spot = grow();
      }
      if (spot.board().settle(block)) {
        block.spot(spot);
        return;
      }
      roomy.remove();
    }
  }

  private Spot grow() {
    Section[] all = sections;
    Section last = all.length == 0 ? null : all[all.length - 1];
    if (last == null || last.used == last.boards.length) {
      last = new Section(all.length);
      Section[] more = Arrays.copyOf(all, all.length + 1);
      more[all.length] = last;
      sections = more;
    }
    Board board = new Board(Board.MOST_PLACES);
    Spot spot = new Spot(last, last.used, board);
    last.boards[last.used++] = board;
    roomy.add(spot);
    return spot;
  }

  /** Ends the place of a block, which its caller owns. */
  synchronized void vacate(PooledBlock block) {
    Spot spot = (Spot) block.spot();
    if (spot.board().vacate(block)) {
      roomy.add(spot);
    }
  }

  /** The block that goes first, of a sample of those that seem idle and the best so far. */
  @Nullable PooledBlock firstToGo(int sample, EvictionPolicy policy, @Nullable PooledBlock best) {
    PooledBlock first = best;
    int more = sample;
    for (Section section : sections) {
      for (int i = 0; i < section.boards.length && more > 0; i++) {
        Board board = section.boards[i];
        if (board != null) {
          int idle = board.idleBlocks();
          first = board.firstToGo(more, policy, first);
          more -= idle;
        }
      }
    }
    return first;
  }
}
