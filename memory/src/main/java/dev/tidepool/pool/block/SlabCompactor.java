package dev.tidepool.pool.block;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Empties slabs that are used a little, so that they can go back to the source.
 *
 * <p>Of each class the emptiest slab is emptied first, into the idle parts of the fullest, until
 * the two meet. While a slab is being emptied, its idle parts cannot be taken. Allocations find
 * others, or ask the source, and never wait. If one part cannot be moved the slab stays, and its
 * idle parts can be taken again.
 */
final class SlabCompactor {
  /** Moves that are made together. */
  private static final int AT_ONCE = 128;

  private final IdleBlocks idle;
  private final PoolCounters counters;
  private final Consumer<Reclaimable> free;

  /**
   * Creates a way to compact a pool.
   *
   * @param free takes over what was claimed
   */
  SlabCompactor(IdleBlocks idle, PoolCounters counters, Consumer<Reclaimable> free) {
    this.idle = idle;
    this.counters = counters;
    this.free = free;
  }

  /** Empties what can be emptied; how many bytes went back. */
  long run(BlockMover mover) {
    Map<Integer, List<Slab>> byClass = new HashMap<>();
    for (Slab slab : counters.slabs()) {
      byClass.computeIfAbsent(slab.sizeClass(), _ -> new ArrayList<>()).add(slab);
    }
    return byClass.values().stream().mapToLong(slabs -> run(slabs, mover)).sum();
  }

  /**
   * Returns whether the slabs of a class could become one fewer: as many bytes as one has are idle
   * or lost. Does not look at the parts, so where memory is full a pass costs next to nothing.
   */
  private boolean canEmptyOne(List<Slab> slabs) {
    long smallest = Long.MAX_VALUE;
    long unused = idle.idleBytes(slabs.getFirst().sizeClass());
    for (Slab slab : slabs) {
      smallest = Math.min(smallest, slab.bytes());
      unused += slab.lostBytes();
    }
    return unused >= smallest;
  }

  private record Use(Slab slab, int live) {}

  private long run(List<Slab> slabs, BlockMover mover) {
    if (!canEmptyOne(slabs)) {
      return 0;
    }
    List<Slab> emptiestFirst =
        slabs.stream()
            .map(slab -> new Use(slab, slab.liveParts()))
            // What is idle altogether is what the pool keeps.
            .filter(use -> use.live() > 0)
            .sorted(Comparator.comparingInt(Use::live))
            .map(Use::slab)
            .toList();
    Vacancies vacancies = new Vacancies(emptiestFirst);
    long returned = 0;
    for (int i = 0; vacancies.lieBehind(i); i++) {
      Slab slab = emptiestFirst.get(i);
      vacancies.keepBehind(i);
      if (emptied(slab, vacancies, mover)) {
        returned += slab.bytes();
        free.accept(slab);
      }
    }
    return returned;
  }

  /** Returns whether all parts of the slab are the caller's now. */
  private boolean emptied(Slab slab, Vacancies vacancies, BlockMover mover) {
    Emptying emptying = new Emptying(slab, mover);
    if (!slab.reserve()) {
      return false;
    }
    boolean empty = false;
    try {
      empty = emptying.run(vacancies);
    } finally {
      emptying.end(empty);
    }
    return empty;
  }

  /**
   * A slab that is being emptied, and what was taken for that. Whatever fails, the slab and all of
   * it can be given back: what is taken is noted in arrays that were made before, so that it is not
   * lost where the heap is full.
   */
  private final class Emptying {
    private final Slab slab;
    private final BlockMover mover;
    private final PooledBlock[] idleParts;
    private int idleCount;
    private final BlockMover.Move[] moves;
    private int moveCount;
    // How many of the moves, the first ones, have been made.
    private int made;
    // A vacancy that no move has yet.
    private @Nullable PooledBlock vacancy;

    Emptying(Slab slab, BlockMover mover) {
      this.slab = slab;
      this.mover = mover;
      this.idleParts = new PooledBlock[slab.parts().size()];
      this.moves = new BlockMover.Move[slab.parts().size()];
    }

    /** Returns whether no part is left in use. */
    boolean run(Vacancies vacancies) {
      for (PooledBlock part : slab.parts()) {
        if (part.ending) {
          continue;
        }
        if (idle.take(part)) {
          idleParts[idleCount++] = part;
          continue;
        }
        PooledBlock to = vacancies.take();
        if (to == null) {
          return false;
        }
        vacancy = to;
        moves[moveCount] = new BlockMover.Move(part, to);
        moveCount++;
        vacancy = null;
        if (moveCount - made == AT_ONCE && !makeMoves()) {
          return false;
        }
      }
      return makeMoves();
    }

    /** Makes moves, or takes what has been given back meanwhile; whether no part is left in use. */
    private boolean makeMoves() {
      if (moveCount == made) {
        return true;
      }
      if (mover.move(List.of(Arrays.copyOfRange(moves, made, moveCount)))) {
        made = moveCount;
        return true;
      }
      while (made < moveCount) {
        BlockMover.Move move = moves[made];
        if (mover.move(List.of(move))) {
          made++;
          continue;
        }
        moveCount--;
        moves[made] = moves[moveCount];
        move.to().giveBack();
        if (!idle.take(move.from())) {
          return false;
        }
        idleParts[idleCount++] = move.from();
      }
      return true;
    }

    /** Ends it: the parts are the caller's, or everything that was not moved is as it was. */
    void end(boolean empty) {
      if (vacancy != null) {
        vacancy.giveBack();
      }
      for (int i = made; i < moveCount; i++) {
        moves[i].to().giveBack();
      }
      if (!empty) {
        slab.unreserve();
        for (int i = 0; i < idleCount; i++) {
          idle.putAnyway(idleParts[i]);
        }
      }
      for (int i = 0; i < made; i++) {
        PooledBlock left = moves[i].from();
        if (empty) {
          left.vacated();
        } else {
          left.giveBack();
        }
      }
    }
  }

  /** Idle parts of the fullest slabs; a place that was passed is not looked at again. */
  private final class Vacancies {
    private final List<Slab> emptiestFirst;
    private int emptiest;
    private int slab;
    private int part;

    Vacancies(List<Slab> emptiestFirst) {
      this.emptiestFirst = emptiestFirst;
      this.slab = emptiestFirst.size() - 1;
    }

    /** Returns whether there may be any in a fuller slab than that. */
    boolean lieBehind(int emptier) {
      return slab > emptier;
    }

    /** Leaves that slab, and emptier ones, alone. */
    void keepBehind(int emptier) {
      emptiest = emptier;
    }

    @Nullable PooledBlock take() {
      while (slab > emptiest) {
        List<PooledBlock> parts = emptiestFirst.get(slab).parts();
        while (part < parts.size()) {
          PooledBlock candidate = parts.get(part);
          part++;
          if (!candidate.ending && idle.take(candidate)) {
            return candidate;
          }
        }
        slab--;
        part = 0;
      }
      return null;
    }
  }
}
