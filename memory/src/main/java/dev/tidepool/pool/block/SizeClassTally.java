package dev.tidepool.pool.block;

import dev.tidepool.pool.SizeClasses;
import dev.tidepool.pooling.SizeClassStatistics;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.Consumer;

/** Counts the blocks of a pool by size class. Used by one thread. */
final class SizeClassTally implements Consumer<PooledBlock> {
  private final long[] hits = new long[SizeClasses.COUNT_WITH_BEYOND];
  private final long[] idleBlocks = new long[SizeClasses.COUNT_WITH_BEYOND];
  private final long[] idleBytes = new long[SizeClasses.COUNT_WITH_BEYOND];
  private final long[] leasedBlocks = new long[SizeClasses.COUNT_WITH_BEYOND];
  private final long[] leasedBytes = new long[SizeClasses.COUNT_WITH_BEYOND];

  /** Returns the index of a class. Blocks beyond all classes and blocks not kept share one. */
  static int countOf(int sizeClass) {
    return sizeClass == PooledBlock.NOT_KEPT ? SizeClasses.BEYOND : sizeClass;
  }

  @Override
  public void accept(PooledBlock block) {
    int count = countOf(block.sizeClass);
    hits[count] += block.hits;
    if (block.isIdle()) {
      idleBlocks[count]++;
      idleBytes[count] += block.bytes;
    } else {
      leasedBlocks[count]++;
      leasedBytes[count] += block.bytes;
    }
  }

  /** Returns the statistics of the classes that were ever used, including counts kept elsewhere. */
  List<SizeClassStatistics> classes(AtomicLongArray misses, AtomicLongArray hitsOfTheGone) {
    List<SizeClassStatistics> classes = new ArrayList<>();
    for (int count = 0; count < SizeClasses.COUNT_WITH_BEYOND; count++) {
      SizeClassStatistics statistics =
          new SizeClassStatistics(
              count == SizeClasses.BEYOND ? 0 : SizeClasses.bytesOf(count),
              hits[count] + hitsOfTheGone.get(count),
              misses.get(count),
              idleBlocks[count],
              idleBytes[count],
              leasedBlocks[count],
              leasedBytes[count]);
      if (statistics.hits() + statistics.misses() > 0) {
        classes.add(statistics);
      }
    }
    return classes;
  }
}
