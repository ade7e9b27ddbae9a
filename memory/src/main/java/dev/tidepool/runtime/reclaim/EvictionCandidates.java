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
 * Finds the next buffers of a manager to evict: approximately the least recently used. {@link
 * Eviction} decides which buffers match its {@link MemoryRequest}, and what happens to them. The
 * key is {@link BufferCore#lastUse}.
 *
 * <p>There is no list of buffers by their last use: every new buffer would have to be added, and
 * all threads would contend for the list. Instead a cursor visits the blocks of the pools, a few in
 * each search, and continues in the next search. The blocks whose buffers were used longest ago are
 * remembered. A search picks the least recently used match of these. So the time of a search does
 * not depend on the number of blocks or buffers, unless most of them cannot be evicted. The order
 * is exact if all blocks can be remembered.
 *
 * <p>This is the sampling that Redis uses for its {@code maxmemory} policies. A cursor replaces the
 * random choice, so that every block is visited, and a search of all buffers misses none.
 *
 * <p>A search creates no storages. The monitor is held during a search; the caller's predicate may
 * take the monitors of blocks and storages.
 */
final class EvictionCandidates {
  private static final int REMEMBERED = 64;

  /** Blocks that a search visits once {@code REMEMBERED} are remembered. */
  private static final int STEPS = 16;

  /** Maximum of blocks that the cursor visits before the remembered ones are compared. */
  private static final int MOST_STEPS = 256;

  private final MemoryPools pools;
  private final Predicate<BufferCore> own;

  // All guarded by this.
  private final @Nullable PooledBlock[] blocks = new PooledBlock[REMEMBERED];
  private final long[] lastUses = new long[REMEMBERED];
  private int count;
  // The index of the most recently used block of these.
  private int mostRecent;
  private Iterator<MemoryPool> poolsLeft = Collections.emptyIterator();
  private Iterator<PooledBlock> cursor = Collections.emptyIterator();
  // How often the cursor has visited all blocks.
  private long passes;

  /**
   * A buffer that was found.
   *
   * @param lastUse the approximate {@link System#nanoTime()} of its last use
   */
  record Candidate(BufferCore core, long lastUse) {
    boolean isBefore(@Nullable Candidate other) {
      return other == null || lastUse - other.lastUse < 0;
    }
  }

  /**
   * Creates a search that remembers no blocks yet.
   *
   * @param own selects the manager's buffers, because other managers have blocks of these pools too
   */
  EvictionCandidates(MemoryPools pools, Predicate<BufferCore> own) {
    this.pools = pools;
    this.own = own;
  }

  /**
   * Returns the matching buffer that was used longest ago; null if none was found.
   *
   * @param amongAll whether to continue until all buffers were visited; else only remembered
   *     buffers are compared
   */
  synchronized @Nullable Candidate find(Predicate<BufferCore> wanted, boolean amongAll) {
    // The cursor may be anywhere; after the next whole pass it has visited all blocks.
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

  /** Forgets the remembered blocks, because none of them matches. */
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
        // The block was returned to its pool, and may belong to another buffer when the cursor
        // reaches it again.
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
