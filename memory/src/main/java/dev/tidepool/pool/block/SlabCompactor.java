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
 * Empties slabs that are little used, so that they can be returned to the source.
 *
 * <p>In each class, the contents of the emptiest slab are moved first, into idle parts of the
 * fullest slab, until the two meet. While a slab is being emptied, its idle parts cannot be taken.
 * Allocations use other blocks, or the source, and never wait. If one part cannot be moved, the
 * slab stays, and its idle parts can be taken again.
 */
final class SlabCompactor {
  /** The number of moves that are made together. */
  private static final int AT_ONCE = 128;

  private final IdleBlocks idle;
  private final PoolCounters counters;
  private final Consumer<Reclaimable> free;

  /**
   * Creates the compactor of a pool.
   *
   * @param free takes ownership of the claimed slabs
   */
  SlabCompactor(IdleBlocks idle, PoolCounters counters, Consumer<Reclaimable> free) {
    this.idle = idle;
    this.counters = counters;
    this.free = free;
  }

  /** Empties slabs where possible. Returns the freed bytes. */
  long run(BlockMover mover) {
    Map<Integer, List<Slab>> byClass = new HashMap<>();
    for (Slab slab : counters.slabs()) {
      byClass.computeIfAbsent(slab.sizeClass(), _ -> new ArrayList<>()).add(slab);
    }
    return byClass.values().stream().mapToLong(slabs -> run(slabs, mover)).sum();
  }

  /**
   * Returns whether one slab of a class could be emptied: at least the bytes of the smallest slab
   * are idle or lost. Does not read the parts, so a pass costs almost nothing if memory is full.
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
            // The pool keeps slabs that are entirely idle.
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

  /** Returns whether the caller now owns all parts of the slab. */
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
   * A slab that is being emptied, and the blocks taken for this. Whatever fails, all of them can be
   * returned: the arrays that record them are allocated before, so that no block is lost if the
   * heap is full.
   */
  private final class Emptying {
    private final Slab slab;
    private final BlockMover mover;
    private final PooledBlock[] idleParts;
    private int idleCount;
    private final BlockMover.Move[] moves;
    private int moveCount;
    // The number of moves, from the first, that have been made.
    private int made;
    // A vacancy that has no move yet.
    private @Nullable PooledBlock vacancy;

    Emptying(Slab slab, BlockMover mover) {
      this.slab = slab;
      this.mover = mover;
      this.idleParts = new PooledBlock[slab.parts().size()];
      this.moves = new BlockMover.Move[slab.parts().size()];
    }

    /** Returns whether no part remains in use. */
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

    /** Makes the moves, or takes parts returned meanwhile. Returns whether no part is in use. */
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

    /** Ends it: the caller owns all parts, or everything that was not moved is as before. */
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

  /** The idle parts of the fullest slabs. Each part is tried once. */
  private final class Vacancies {
    private final List<Slab> emptiestFirst;
    private int emptiest;
    private int slab;
    private int part;

    Vacancies(List<Slab> emptiestFirst) {
      this.emptiestFirst = emptiestFirst;
      this.slab = emptiestFirst.size() - 1;
    }

    /** Returns whether a slab fuller than this one may have idle parts. */
    boolean lieBehind(int emptier) {
      return slab > emptier;
    }

    /** Excludes this slab and emptier ones. */
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
