package dev.tidepool.pool;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Where a pool's idle blocks lie: in stripes, and behind them in a list for each size class, all of
 * them charged to one budget.
 *
 * <p>A block that is put down is charged first, and discharged after it was taken, so the caps hold
 * at every moment. Whoever takes a block owns it alone. Making room lets go of the least recently
 * used blocks, as told by a clock that ticks whenever a block is put down outside of the fast path:
 * blocks that came back between two ticks count as equally old.
 */
final class IdleBlocks {
  /** The class of blocks above the largest size class; it has a list, and no slots. */
  static final int BEYOND_CLASSES = SizeClasses.COUNT;

  /** After so many rounds of making room for a returning block, it is let go instead. */
  private static final int MOST_ROUNDS = 16;

  private final Stripes stripes = new Stripes(Runtime.getRuntime().availableProcessors());
  private final IdleList[] lists = new IdleList[SizeClasses.COUNT + 1];
  private final IdleBudget budget;
  private final AtomicLong clock = new AtomicLong();
  private final Consumer<PooledBlock> evict;

  /**
   * Nothing idle yet.
   *
   * @param evict frees a block that had to make room
   */
  IdleBlocks(BlockPool.Limits limits, Consumer<PooledBlock> evict) {
    this.budget =
        new IdleBudget(limits.maxBytes(), limits.maxBytesPerClass(), SizeClasses.COUNT + 1);
    this.evict = evict;
    for (int i = 0; i < lists.length; i++) {
      lists[i] = new IdleList();
    }
  }

  /** Takes a block of a class from where the caller put its last ones. */
  @Nullable PooledBlock takeNear(int sizeClass) {
    return stripes.take(sizeClass);
  }

  /** Takes a block of a class from wherever there is one. */
  @Nullable PooledBlock takeAny(int sizeClass) {
    PooledBlock block = lists[sizeClass].takeNewest();
    if (block == null && sizeClass != BEYOND_CLASSES) {
      block = stripes.steal(sizeClass);
    }
    return discharged(block);
  }

  /** Takes a block above the largest class that has exactly that size. */
  @Nullable PooledBlock takeBeyondClasses(long bytes) {
    return discharged(lists[BEYOND_CLASSES].takeNewestOf(bytes));
  }

  /** Takes this block from wherever it lies; false if it is gone. */
  boolean take(PooledBlock block) {
    boolean taken =
        lists[block.sizeClass].take(block)
            || (block.sizeClass != BEYOND_CLASSES && stripes.take(block));
    if (taken) {
      discharged(block);
    }
    return taken;
  }

  private @Nullable PooledBlock discharged(@Nullable PooledBlock block) {
    if (block != null) {
      budget.discharge(block.sizeClass, block.bytes);
    }
    return block;
  }

  /** Puts a block down where its bytes are charged already; false if that is nowhere near. */
  boolean putNear(PooledBlock block) {
    block.idleTick = clock.getOpaque();
    return block.sizeClass != BEYOND_CLASSES && stripes.putOnCredit(block);
  }

  /** Puts a block down that must be charged, evicting older ones; false if there is no room. */
  boolean put(PooledBlock block) {
    block.idleTick = clock.incrementAndGet();
    if (!budget.admits(block.bytes)) {
      return false;
    }
    for (int round = 0; round < MOST_ROUNDS; round++) {
      IdleBudget.Answer answer = budget.charge(block.sizeClass, block.bytes);
      if (answer == IdleBudget.Answer.GRANTED) {
        if (block.sizeClass == BEYOND_CLASSES || !stripes.put(block)) {
          lists[block.sizeClass].add(block);
        }
        return true;
      }
      boolean inClass = answer == IdleBudget.Answer.CLASS_IS_FULL;
      int first = inClass ? block.sizeClass : 0;
      int last = inClass ? block.sizeClass : BEYOND_CLASSES;
      if (!reclaimCredits(first, last) && !evictOldest(first, last)) {
        return false;
      }
    }
    return false;
  }

  /** Takes back what slots hold for blocks that are leased. */
  void reclaimCredits() {
    reclaimCredits(0, BEYOND_CLASSES);
  }

  private boolean reclaimCredits(int first, int last) {
    boolean reclaimed = false;
    for (int sizeClass = first; sizeClass <= Math.min(last, SizeClasses.COUNT - 1); sizeClass++) {
      int credits = stripes.reclaimCredits(sizeClass);
      if (credits > 0) {
        budget.discharge(sizeClass, credits * SizeClasses.bytesOf(sizeClass));
        reclaimed = true;
      }
    }
    return reclaimed;
  }

  /** Evicts the least recently used block of some classes; false if there was none. */
  private boolean evictOldest(int first, int last) {
    Oldest oldest = new Oldest();
    for (int sizeClass = first; sizeClass <= last; sizeClass++) {
      PooledBlock listed = lists[sizeClass].peekOldest();
      if (listed != null) {
        oldest.accept(listed);
      }
      if (sizeClass != BEYOND_CLASSES) {
        stripes.forEach(sizeClass, oldest);
      }
    }
    PooledBlock victim = oldest.block;
    if (victim == null) {
      return false;
    }
    if (take(victim)) {
      evict.accept(victim);
    }
    // One that someone else took makes room as well.
    return true;
  }

  private static final class Oldest implements Consumer<PooledBlock> {
    private @Nullable PooledBlock block;

    @Override
    public void accept(PooledBlock other) {
      if (block == null || other.idleTick - block.idleTick < 0) {
        block = other;
      }
    }
  }

  /** What lies here now, the blocks of a list oldest first. */
  List<PooledBlock> snapshot() {
    List<PooledBlock> idle = new ArrayList<>();
    for (int sizeClass = 0; sizeClass <= BEYOND_CLASSES; sizeClass++) {
      lists[sizeClass].forEach(idle::add);
      if (sizeClass != BEYOND_CLASSES) {
        stripes.forEach(sizeClass, idle::add);
      }
    }
    return idle;
  }
}
