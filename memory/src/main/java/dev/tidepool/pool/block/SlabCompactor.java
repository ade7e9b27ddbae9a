package dev.tidepool.pool.block;

import java.util.ArrayList;
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
   * Whether the slabs of a class could become one fewer: as many bytes as one has are idle or lost.
   * Does not look at the parts, so where memory is full a pass costs next to nothing.
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

  /** Whether all parts of the slab are the caller's now. */
  private boolean emptied(Slab slab, Vacancies vacancies, BlockMover mover) {
    if (!slab.reserve()) {
      return false;
    }
    List<PooledBlock> idleParts = new ArrayList<>();
    List<BlockMover.Move> moved = new ArrayList<>();
    List<BlockMover.Move> moves = new ArrayList<>();
    boolean empty = true;
    for (PooledBlock part : slab.parts()) {
      if (part.ending) {
        continue;
      }
      if (idle.take(part)) {
        idleParts.add(part);
        continue;
      }
      PooledBlock to = vacancies.take();
      if (to == null) {
        empty = false;
        break;
      }
      moves.add(new BlockMover.Move(part, to));
      if (moves.size() == AT_ONCE) {
        empty = made(moves, moved, idleParts, mover);
        moves.clear();
        if (!empty) {
          break;
        }
      }
    }
    // Vacancies that were taken have to be used or given back in any case.
    empty &= made(moves, moved, idleParts, mover);
    if (!empty) {
      slab.unreserve();
      idleParts.forEach(idle::putAnyway);
      moved.forEach(move -> move.from().giveBack());
    } else {
      moved.forEach(move -> move.from().vacated());
    }
    return empty;
  }

  /** Makes moves, or takes what has been given back meanwhile; whether no part is left in use. */
  private boolean made(
      List<BlockMover.Move> moves,
      List<BlockMover.Move> moved,
      List<PooledBlock> idleParts,
      BlockMover mover) {
    if (moves.isEmpty()) {
      return true;
    }
    if (mover.move(moves)) {
      moved.addAll(moves);
      return true;
    }
    boolean empty = true;
    for (BlockMover.Move move : moves) {
      if (empty && mover.move(List.of(move))) {
        moved.add(move);
        continue;
      }
      move.to().giveBack();
      if (idle.take(move.from())) {
        idleParts.add(move.from());
      } else {
        empty = false;
      }
    }
    return empty;
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

    /** Whether there may be any in a fuller slab than that. */
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
