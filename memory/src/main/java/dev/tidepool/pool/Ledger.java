package dev.tidepool.pool;

import java.util.Collection;
import java.util.Collections;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;

/**
 * What a pool has and has done. Written on the slow paths only: hits are counted by the blocks
 * themselves, for which every block is enrolled from its allocation to its end.
 */
final class Ledger {
  final LongAdder misses = new LongAdder();
  final LongAdder failedFrees = new LongAdder();
  final LongAdder trims = new LongAdder();
  final LongAdder trimmedBytes = new LongAdder();
  final LongAdder repeatedReleases = new LongAdder();

  // Not adders: they may allocate, and these count what happens where blocks are given back.
  private final AtomicLong evictions = new AtomicLong();
  private final AtomicLong hitsOfTheGone = new AtomicLong();
  private final AtomicLong reserved = new AtomicLong();
  private final AtomicLong peakReserved = new AtomicLong();

  private final LongAdder allocations = new LongAdder();
  private final LongAdder frees = new LongAdder();
  private final Set<PooledBlock> singles = ConcurrentHashMap.newKeySet();
  private final Set<Slab> slabs = ConcurrentHashMap.newKeySet();

  void enrol(PooledBlock single) {
    singles.add(single);
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
      hitsOfTheGone.addAndGet(block.hits);
    }
  }

  void forget(PooledBlock single) {
    retired(single);
    singles.remove(single);
  }

  void forget(Slab slab) {
    slab.parts().forEach(this::retired);
    slabs.remove(slab);
  }

  Collection<PooledBlock> singles() {
    return Collections.unmodifiableCollection(singles);
  }

  Collection<Slab> slabs() {
    return Collections.unmodifiableCollection(slabs);
  }

  /** The source gave a block. */
  void gained(long bytes) {
    allocations.increment();
    peakReserved.accumulateAndGet(reserved.addAndGet(bytes), Math::max);
  }

  /** A block goes back to the source. */
  void lost(long bytes) {
    frees.increment();
    reserved.addAndGet(-bytes);
  }

  void trimmed(long bytes) {
    trims.increment();
    trimmedBytes.add(bytes);
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

  long reservedBytes() {
    return reserved.get();
  }

  long peakReservedBytes() {
    return peakReserved.get();
  }

  private static final class Sum implements Consumer<PooledBlock> {
    private long hits;
    private long idleBlocks;
    private long idleBytes;
    private long leasedBlocks;
    private long leasedBytes;

    @Override
    public void accept(PooledBlock block) {
      hits += block.hits;
      if (block.isIdle()) {
        idleBlocks++;
        idleBytes += block.bytes;
      } else {
        leasedBlocks++;
        leasedBytes += block.bytes;
      }
    }
  }

  PoolStatistics statistics() {
    Sum sum = new Sum();
    forEach(sum);
    return new PoolStatistics(
        sum.hits + hitsOfTheGone.get(),
        misses.sum(),
        sum.idleBlocks,
        sum.idleBytes,
        sum.leasedBlocks,
        sum.leasedBytes,
        allocations.sum(),
        frees.sum(),
        failedFrees.sum(),
        evictions.get(),
        trims.sum(),
        trimmedBytes.sum(),
        repeatedReleases.sum());
  }
}
