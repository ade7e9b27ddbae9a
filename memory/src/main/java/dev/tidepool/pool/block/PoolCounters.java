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
 * The counts of a pool. Written on slow paths only: blocks count their own hits. For this, every
 * block is enrolled from its allocation to its end.
 */
final class PoolCounters {
  /** Created once, because it is used when the source has just given a block. */
  static final LongBinaryOperator GREATER = Math::max;

  // Not LongAdders, which may allocate: these count while blocks are taken or returned.
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
  // Whether there ever was a single block of a class that is usually cut from slabs.
  private volatile boolean hasSmallSingles;
  private final SlabList slabs = new SlabList();

  void enrol(PooledBlock single) {
    if (single.sizeClass < SizeClasses.CUT_COUNT) {
      hasSmallSingles = true;
    }
    singles.add(single);
  }

  /** Returns the smallest size class that single blocks may have. */
  int smallestSingle() {
    return hasSmallSingles ? 0 : SizeClasses.CUT_COUNT;
  }

  void enrol(Slab slab) {
    slabs.add(slab);
  }

  void evicted() {
    evictions.incrementAndGet();
  }

  /** Counts a block of the caller as never leased again. Its memory may be freed later. */
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
      // The set may allocate to count. A retired block counts nowhere, so it can be freed.
    }
  }

  /** Counts all parts of a slab that the caller has claimed as retired. Allocates nothing. */
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

  /** Counts a request that found no idle block of its class, once for each lease. */
  void missed(int sizeClass) {
    misses.incrementAndGet(SizeClassTally.countOf(sizeClass));
  }

  /** Returns the number of requests that found no idle block. */
  long misses() {
    long sum = 0;
    for (int count = 0; count < SizeClasses.COUNT_WITH_BEYOND; count++) {
      sum += misses.get(count);
    }
    return sum;
  }

  /** Returns whether a block of a class was ever requested from the source. */
  boolean hasMissed(int sizeClass) {
    return misses.get(sizeClass) > 0;
  }

  /** Counts a block that the source has allocated. */
  void gained(long bytes) {
    allocations.incrementAndGet();
    peakReserved.accumulateAndGet(reserved.addAndGet(bytes), GREATER);
  }

  /** Counts a block that is returned to the source. */
  void lost(long bytes) {
    frees.incrementAndGet();
    reserved.addAndGet(-bytes);
  }

  void trimmed(long bytes) {
    trims.incrementAndGet();
    trimmedBytes.addAndGet(bytes);
  }

  /** Passes all blocks that are leased, or can be, to an action. */
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

  /** Returns the idle bytes of slabs that are in use. */
  long boundBytes() {
    long bound = 0;
    for (Slab slab : slabs) {
      bound += slab.boundBytes();
    }
    return bound;
  }

  /** Returns the bytes that the pool holds. For the pool itself. */
  long heldBytes() {
    return reserved.get();
  }

  /** Returns the bytes that the pool holds. The peak is then at least as high. */
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
