package dev.tidepool.pool;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/**
 * What a pool has done. Written on the slow paths only: hits are counted by the blocks themselves,
 * for which every block that the pool may keep is enrolled from its allocation to its end.
 */
final class Ledger {
  final LongAdder misses = new LongAdder();
  final LongAdder evictions = new LongAdder();
  final LongAdder failedFrees = new LongAdder();
  final LongAdder trims = new LongAdder();
  final LongAdder trimmedBytes = new LongAdder();
  final LongAdder repeatedReleases = new LongAdder();

  private final LongAdder allocations = new LongAdder();
  private final LongAdder frees = new LongAdder();
  private final LongAdder ownedBytes = new LongAdder();
  private final LongAdder hitsOfTheFreed = new LongAdder();
  private final Set<PooledBlock> enrolled = ConcurrentHashMap.newKeySet();

  void allocated(PooledBlock block) {
    allocations.increment();
    ownedBytes.add(block.bytes);
    if (block.sizeClass != PooledBlock.NOT_KEPT) {
      enrolled.add(block);
    }
  }

  /** Comes before the memory goes, so that a block never seems to have two owners. */
  void freeing(PooledBlock block) {
    if (block.sizeClass != PooledBlock.NOT_KEPT) {
      enrolled.remove(block);
      hitsOfTheFreed.add(block.hits);
    }
    ownedBytes.add(-block.bytes);
    frees.increment();
  }

  /** Whether there are blocks, idle or leased, that the pool may keep. */
  boolean hasEnrolled() {
    return !enrolled.isEmpty();
  }

  PoolStatistics statistics(long idleBlocks, long idleBytes) {
    long hits = hitsOfTheFreed.sum();
    for (PooledBlock block : enrolled) {
      hits += block.hits;
    }
    return new PoolStatistics(
        hits,
        misses.sum(),
        idleBlocks,
        idleBytes,
        Math.max(0, allocations.sum() - frees.sum() - idleBlocks),
        Math.max(0, ownedBytes.sum() - idleBytes),
        allocations.sum(),
        frees.sum(),
        failedFrees.sum(),
        evictions.sum(),
        trims.sum(),
        trimmedBytes.sum(),
        repeatedReleases.sum());
  }
}
