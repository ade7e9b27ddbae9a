package dev.tidepool.runtime.reclaim;

import dev.tidepool.pool.block.MemoryPool;
import dev.tidepool.pool.block.PooledBlock;
import dev.tidepool.runtime.storage.BufferCore;
import dev.tidepool.runtime.supply.MemoryPools;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Finds the buffers of a manager that eviction takes next: approximately the least recently used.
 * {@link Eviction} says which buffers match, by its {@link MemoryRequest}, and what happens to
 * them. The key is {@link BufferCore#lastUse}.
 *
 * <p>There is no list of buffers by their last use, because every new buffer would have to be added
 * to it, and all threads would contend for it. A cursor passes the blocks of the pools, a few for
 * each search, and goes on at the next search where it stopped. Of the blocks that it passed, those
 * whose buffers were used longest ago are remembered. A search picks the least recently used of
 * these that match. So the time of a search depends neither on the number of blocks nor on the
 * number of buffers, unless most of them cannot be evicted. Where the blocks are no more than are
 * remembered, the order is exact.
 *
 * <p>This is the sampling that Redis uses for its {@code maxmemory} policies. The cursor takes the
 * place of random choice, so that every block is passed, and a search that finds nothing has looked
 * at all.
 *
 * <p>A search makes no storage for a buffer that has none. The monitor is held for a search; the
 * caller's predicate may take the monitors of blocks and storages.
 */
final class EvictionCandidates {
  private static final int REMEMBERED = 64;

  /** Blocks that a search passes when as many as that are remembered. */
  private static final int STEPS = 16;

  /** Blocks that the cursor passes before the remembered ones are looked at. */
  private static final int MOST_STEPS = 256;

  private final MemoryPools pools;
  private final Predicate<BufferCore> own;

  // All guarded by this.
  private final @Nullable PooledBlock[] blocks = new PooledBlock[REMEMBERED];
  private final long[] lastUses = new long[REMEMBERED];
  private int count;
  // The index of the remembered block that was used last.
  private int mostRecent;
  private Iterator<MemoryPool> poolsLeft = Collections.emptyIterator();
  private Iterator<PooledBlock> cursor = Collections.emptyIterator();
  // How often the cursor has passed all blocks.
  private long passes;

  /**
   * A buffer that was found.
   *
   * @param lastUse about when it was used last, in terms of {@link System#nanoTime()}
   */
  record Candidate(BufferCore core, long lastUse) {
    boolean isBefore(@Nullable Candidate other) {
      return other == null || lastUse - other.lastUse < 0;
    }
  }

  /**
   * Creates a search that remembers no blocks yet.
   *
   * @param own whether a buffer is the manager's, because other managers have blocks of these pools
   *     too
   */
  EvictionCandidates(MemoryPools pools, Predicate<BufferCore> own) {
    this.pools = pools;
    this.own = own;
  }

  /**
   * Returns the matching buffer that was used longest ago; null if there is none.
   *
   * @param amongAll whether the search goes on until it has looked at all buffers; if not, it ends
   *     with those that are remembered
   */
  synchronized @Nullable Candidate find(Predicate<BufferCore> wanted, boolean amongAll) {
    // The cursor may be anywhere, so it has seen all blocks when it begins the pass after the next.
    long lastPass = passes + 2;
    while (true) {
      advance();
      Candidate found = leastRecentlyUsed(wanted);
      if (found != null || !amongAll || passes >= lastPass) {
        return found;
      }
      forget();
    }
  }

  /** Forgets the blocks that were passed, because none of them matches. */
  private void forget() {
    Arrays.fill(blocks, 0, count, null);
    count = 0;
  }

  private void advance() {
    long lastPass = passes + 2;
    for (int steps = 0;
        passes < lastPass && steps < MOST_STEPS && (steps < STEPS || count < REMEMBERED);
        steps++) {
      PooledBlock block = nextBlock();
      BufferCore core = block == null ? null : core(block);
      if (block != null && core != null) {
        remember(block, core.lastUse());
      }
    }
  }

  /** Returns the next block; null at the end of a pass. */
  private @Nullable PooledBlock nextBlock() {
    while (!cursor.hasNext()) {
      if (!poolsLeft.hasNext()) {
        poolsLeft = pools.all().iterator();
        passes++;
        return null;
      }
      cursor = poolsLeft.next().blocks();
    }
    return cursor.next();
  }

  private @Nullable BufferCore core(PooledBlock block) {
    BufferCore core = BufferCore.seen(block);
    return core != null && own.test(core) ? core : null;
  }

  private void remember(PooledBlock block, long lastUse) {
    // This test rejects most blocks, before the loop below compares them with all remembered ones.
    if (count == REMEMBERED && lastUse - lastUses[mostRecent] >= 0) {
      return;
    }
    for (int i = 0; i < count; i++) {
      if (block.equals(blocks[i])) {
        return;
      }
    }
    put(count < REMEMBERED ? count++ : mostRecent, block, lastUse);
    mostRecent = mostRecent();
  }

  private int mostRecent() {
    int found = 0;
    for (int i = 1; i < count; i++) {
      found = lastUses[i] - lastUses[found] > 0 ? i : found;
    }
    return found;
  }

  private void put(int index, @Nullable PooledBlock block, long lastUse) {
    blocks[index] = block;
    lastUses[index] = lastUse;
  }

  private @Nullable Candidate leastRecentlyUsed(Predicate<BufferCore> wanted) {
    Candidate best = null;
    int i = 0;
    while (i < count) {
      PooledBlock block = blocks[i];
      BufferCore core = block == null ? null : core(block);
      if (core == null) {
        // It was returned to its pool, and may belong to another buffer when the cursor reaches it
        // again.
        count--;
        put(i, blocks[count], lastUses[count]);
        put(count, null, 0);
        continue;
      }
      Candidate candidate = new Candidate(core, core.lastUse());
      lastUses[i] = candidate.lastUse();
      if (candidate.isBefore(best) && wanted.test(core)) {
        best = candidate;
      }
      i++;
    }
    mostRecent = mostRecent();
    return best;
  }
}
