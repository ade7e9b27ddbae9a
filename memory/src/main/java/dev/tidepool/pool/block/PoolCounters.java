package dev.tidepool.pool.block;

import dev.tidepool.pool.SizeClasses;
import dev.tidepool.pooling.PoolStatistics;
import dev.tidepool.pooling.SizeClassStatistics;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.Consumer;
import java.util.function.LongBinaryOperator;
import java.util.function.ToLongFunction;

/**
 * What a pool has and has done. Written on the slow paths only: hits are counted by the blocks
 * themselves, for which every block is enrolled from its allocation to its end.
 */
final class PoolCounters {
  /** Made once, because it is used where the source has just given a block. */
  static final LongBinaryOperator GREATER = Math::max;

  // No adders anywhere: they may allocate, and these count where blocks change hands.
  final AtomicLong failedFrees = new AtomicLong();
  final AtomicLong repeatedReleases = new AtomicLong();
  private final AtomicLong trims = new AtomicLong();
  private final AtomicLong trimmedBytes = new AtomicLong();
  private final AtomicLong evictions = new AtomicLong();
  private final AtomicLongArray hitsOfTheGone = new AtomicLongArray(SizeClasses.COUNT_WITH_BEYOND);
  private final AtomicLong reserved = new AtomicLong();
  private final AtomicLong peakReserved = new AtomicLong();

  private final AtomicLongArray misses = new AtomicLongArray(SizeClasses.COUNT_WITH_BEYOND);
  private final AtomicLong allocations = new AtomicLong();
  private final AtomicLong frees = new AtomicLong();
  private final Set<PooledBlock> singles = ConcurrentHashMap.newKeySet();
  // Those of a class that is usually cut from slabs, since the pool began.
  private volatile boolean hasSmallSingles;
  private final SlabList slabs = new SlabList();

  void enrol(PooledBlock single) {
    if (single.sizeClass < SizeClasses.CUT_COUNT) {
      hasSmallSingles = true;
    }
    singles.add(single);
  }

  /** The least size class that blocks may be of which the source gave one by one. */
  int smallestSingle() {
    return hasSmallSingles ? 0 : SizeClasses.CUT_COUNT;
  }

  void enrol(Slab slab) {
    slabs.add(slab);
  }

  void evicted() {
    evictions.incrementAndGet();
  }

  /** A block, which its caller owns, is never leased again; its memory may go later. */
  void retired(PooledBlock block) {
    if (!block.ending) {
      block.ending = true;
      if (block.slab != null) {
        block.slab.lost(block.bytes);
      }
      hitsOfTheGone.addAndGet(SizeClassTally.countOf(block.sizeClass), block.hits);
    }
  }

  void forget(PooledBlock single) {
    retired(single);
    try {
      singles.remove(single);
    } catch (OutOfMemoryError e) {
      // The set may allocate to count. What is retired counts nowhere, and can go.
    }
  }

  /** Counts all parts of a slab, which the caller has claimed, as retired; makes no object. */
  void retired(Slab slab) {
    for (int i = 0; i < slab.parts().size(); i++) {
      retired(slab.parts().get(i));
    }
  }

  void forget(Slab slab) {
    retired(slab);
    slabs.remove(slab);
  }

  Collection<PooledBlock> singles() {
    return Collections.unmodifiableCollection(singles);
  }

  SlabList slabs() {
    return slabs;
  }

  /** No block of a class was idle, so the source is asked; once for each lease. */
  void missed(int sizeClass) {
    misses.incrementAndGet(SizeClassTally.countOf(sizeClass));
  }

  /** Returns how often no block was idle. */
  long misses() {
    long sum = 0;
    for (int count = 0; count < SizeClasses.COUNT_WITH_BEYOND; count++) {
      sum += misses.get(count);
    }
    return sum;
  }

  /** Returns whether the source was ever asked for a block of a class. */
  boolean hasMissed(int sizeClass) {
    return misses.get(sizeClass) > 0;
  }

  /** The source gave a block. */
  void gained(long bytes) {
    allocations.incrementAndGet();
    peakReserved.accumulateAndGet(reserved.addAndGet(bytes), GREATER);
  }

  /** A block goes back to the source. */
  void lost(long bytes) {
    frees.incrementAndGet();
    reserved.addAndGet(-bytes);
  }

  void trimmed(long bytes) {
    trims.incrementAndGet();
    trimmedBytes.addAndGet(bytes);
  }

  /** Shows all blocks that can be leased, or are. */
  void forEach(Consumer<PooledBlock> action) {
    for (PooledBlock block : singles) {
      if (!block.ending) {
        action.accept(block);
      }
    }
    for (Slab slab : slabs) {
      for (PooledBlock part : slab.parts()) {
        if (!part.ending) {
          action.accept(part);
        }
      }
    }
  }

  /** Idle bytes of slabs that are in use. */
  long boundBytes() {
    long bound = 0;
    for (Slab slab : slabs) {
      bound += slab.boundBytes();
    }
    return bound;
  }

  /** Bytes that are held, for the pool itself. */
  long heldBytes() {
    return reserved.get();
  }

  /** Bytes that are held; the peak is never below a number that was returned before. */
  long reservedBytes() {
    long now = reserved.get();
    peakReserved.accumulateAndGet(now, GREATER);
    return now;
  }

  long peakReservedBytes() {
    return peakReserved.get();
  }

  PoolStatistics statistics(String name) {
    SizeClassTally tally = new SizeClassTally();
    forEach(tally);
    List<SizeClassStatistics> classes = tally.classes(misses, hitsOfTheGone);
    return new PoolStatistics(
        sum(classes, SizeClassStatistics::hits),
        sum(classes, SizeClassStatistics::misses),
        sum(classes, SizeClassStatistics::idleBlocks),
        sum(classes, SizeClassStatistics::idleBytes),
        sum(classes, SizeClassStatistics::leasedBlocks),
        sum(classes, SizeClassStatistics::leasedBytes),
        allocations.get(),
        frees.get(),
        failedFrees.get(),
        evictions.get(),
        trims.get(),
        trimmedBytes.get(),
        repeatedReleases.get(),
        name,
        reservedBytes(),
        peakReservedBytes(),
        classes);
  }

  private static long sum(
      List<SizeClassStatistics> classes, ToLongFunction<SizeClassStatistics> figure) {
    return classes.stream().mapToLong(figure).sum();
  }
}
