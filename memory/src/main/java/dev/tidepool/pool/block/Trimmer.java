package dev.tidepool.pool.block;

import dev.tidepool.pooling.EvictionPolicy;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.support.RankedSort;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * Returns idle memory to the source: all of it in no particular order, or, in the order of the
 * policy, the memory that was not used for a while.
 *
 * <p>The monitor guards the runs of maintenance. Blocks are freed under it, but threads that
 * allocate or return blocks never wait for it.
 */
final class Trimmer {
  private final IdleBlocks idle;
  private final PoolCounters counters;
  private final PoolLimits limits;
  private final Consumer<Reclaimable> free;

  Trimmer(IdleBlocks idle, PoolCounters counters, PoolLimits limits, Consumer<Reclaimable> free) {
    this.idle = idle;
    this.counters = counters;
    this.limits = limits;
    this.free = free;
  }

  /**
   * Frees the memory that is idle now. Memory returned meanwhile stays; otherwise this would never
   * end in a busy pool.
   */
  long all() {
    long freed = 0;
    for (Reclaimable candidate : allIdle()) {
      freed += freeIfIdle(candidate);
    }
    return counted(freed);
  }

  /** Returns handles of the idle memory, to free each alone. */
  List<ReclaimHandle> pieces(Predicate<Block> wanted) {
    return allIdle().stream()
        .filter(piece -> wanted.test(sourceOf(piece)))
        .map(
            piece ->
                new ReclaimHandle(
                    piece.bytes(),
                    piece.rank(EvictionPolicy.FIFO),
                    () -> counted(freeIfIdle(piece))))
        .toList();
  }

  private static Block sourceOf(Reclaimable piece) {
    return switch (piece) {
      case PooledBlock block -> block.block;
      case Slab slab -> slab.whole;
    };
  }

  private long freeIfIdle(Reclaimable candidate) {
    if (!candidate.claim(idle)) {
      return 0;
    }
    long bytes = candidate.bytes();
    free.accept(candidate);
    return bytes;
  }

  /** Frees memory that is idle, or allocated, since before a time, in the policy's order. */
  synchronized long idleSince(long nanoTime) {
    boolean byAge = limits.policy() == EvictionPolicy.TIME_TO_LIVE;
    long now = System.nanoTime();
    long idleBytes = 0;
    List<Reclaimable> old = new ArrayList<>();
    for (Reclaimable candidate : allIdle()) {
      idleBytes += candidate.bytes();
      boolean unused = candidate.looksUnusedSince(nanoTime, now);
      if (byAge ? candidate.isOlderThan(nanoTime) : unused) {
        old.add(candidate);
      }
    }
    List<Reclaimable> sorted = RankedSort.by(each -> each.rank(limits.policy()), old.stream());
    return counted(freeFirst(sorted, idleBytes));
  }

  private long freeFirst(List<Reclaimable> old, long idleBytes) {
    long left = idleBytes;
    long freed = 0;
    for (Reclaimable candidate : old) {
      if (left <= limits.keptBytes()) {
        break;
      }
      if (!candidate.claim(idle)) {
        continue;
      }
      if (candidate.wasUsedSinceLook()) {
        candidate.unclaim(idle);
      } else {
        left -= candidate.bytes();
        freed += candidate.bytes();
        free.accept(candidate);
      }
    }
    return freed;
  }

  private List<Reclaimable> allIdle() {
    List<Reclaimable> found = new ArrayList<>();
    // If memory is full, nothing is idle, and reading every block costs more than this check.
    if (idle.isAnyIdleFrom(counters.smallestSingle())) {
      counters.singles().stream().filter(Reclaimable::isAllIdle).forEach(found::add);
    }
    for (Slab slab : counters.slabs()) {
      if (slab.isAllIdle()) {
        found.add(slab);
      }
    }
    return found;
  }

  private long counted(long bytes) {
    if (bytes > 0) {
      counters.trimmed(bytes);
    }
    return bytes;
  }
}
