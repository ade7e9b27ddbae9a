package dev.tidepool.pool.block;

import dev.tidepool.pool.SizeClasses;
import dev.tidepool.pooling.EvictionPolicy;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The idle blocks of a pool: in stripes, and behind them on one shared list for each size class.
 * All of them are charged to one budget.
 *
 * <p><b>Charges.</b> A block of a shared list is charged before it is put there and discharged
 * after it is taken. A block of a stripe stays charged while it is leased. This charge is its
 * credit, with which it is returned by one atomic operation. A thread that finds the budget
 * exhausted revokes the credits of leased blocks; such a block is charged again when it is
 * returned. So the caps hold at every moment, except for parts of slabs, which cannot be freed
 * alone: they are {@linkplain #putAnyway charged beyond the caps}, and whole slabs are freed later.
 *
 * <p><b>A credit that is revoked while its block is returned.</b> The returning thread makes the
 * block idle, then reads the credit. The other thread takes the credit, then reads whether the
 * block is idle. In any order, one of them sees the other's step and {@linkplain #recover recovers}
 * the block.
 *
 * <p>When a limit is reached, the policy chooses the blocks to evict, by default the least recently
 * used. The clock for this ticks whenever a block without credit is put down, so blocks returned
 * between two ticks count as equally old. If a class has many idle blocks, only a sample is
 * compared.
 */
final class IdleBlocks implements IdleSet {
  /** After this many rounds of evictions for a returned block, that block is evicted instead. */
  private static final int MOST_ROUNDS = 16;

  private final ThreadStripes stripes = new ThreadStripes();
  // Blocks beyond all classes have a list too, but no place in stripes.
  private final SharedFreeList[] sharedLists = new SharedFreeList[SizeClasses.COUNT_WITH_BEYOND];
  private final IdleBudget budget;
  private final EvictionPolicy policy;
  private final AtomicLong clock = new AtomicLong();
  private final Consumer<PooledBlock> evict;
  // Created once: returning a block allocates nothing, even if another block is evicted for it.
  private final Predicate<PooledBlock> reclaiming = this::reclaimCredit;
  private final LongSupplier evictSlab;

  /**
   * Creates a set without blocks.
   *
   * @param evict takes ownership of an evicted block
   * @param evictSlab frees an idle slab; returns its bytes, or 0 if there is none
   */
  IdleBlocks(PoolLimits limits, Consumer<PooledBlock> evict, LongSupplier evictSlab) {
    this.budget = new IdleBudget(limits.maxBytes(), limits.maxBytesPerClass());
    this.policy = limits.policy();
    this.evict = evict;
    this.evictSlab = evictSlab;
    for (int i = 0; i < sharedLists.length; i++) {
      sharedLists[i] = new SharedFreeList(i < SizeClasses.CUT_COUNT);
    }
  }

  /** Returns the stripes, where a thread finds blocks that it returned earlier. */
  ThreadStripes stripes() {
    return stripes;
  }

  /** Takes a block of a class from the shared list or any stripe. */
  @Nullable PooledBlock takeAny(int sizeClass) {
    PooledBlock block = takeShared(sizeClass);
    if (block != null) {
      return block;
    }
    boolean near = stripes.hasRoom(sizeClass);
    PooledBlock stolen = stripes.steal(sizeClass);
    if (stolen != null && near) {
      stripes.bring(stolen);
    }
    return stolen;
  }

  /** Takes a block of a class from the shared list. */
  @Nullable PooledBlock takeShared(int sizeClass) {
    // First, because this may allocate: a thread must not hold a block when that throws.
    boolean near = stripes.hasRoom(sizeClass);
    PooledBlock block = sharedLists[sizeClass].take();
    if (block == null) {
      return null;
    }
    SlotBitmap bitmap = block.bitmap();
    if (near && stripes.settle(block)) {
      // The next take finds it in the stripe. It leaves its old place last, in case it gets no
      // other.
      sharedLists[sizeClass].vacate(bitmap, block);
    }
    return discharged(block);
  }

  /** Takes the smallest block of a larger class, at most an eighth larger than the request. */
  @Nullable PooledBlock takeRoomier(long bytes, int sizeClass) {
    long most = SizeClasses.largestBlockFor(bytes);
    PooledBlock block = null;
    for (int larger = sizeClass + 1;
        block == null && larger < SizeClasses.COUNT && SizeClasses.bytesOf(larger) <= most;
        larger++) {
      block = takeAny(larger);
    }
    return block;
  }

  /** Takes a block above the largest class that has exactly this size. */
  @Nullable PooledBlock takeBeyondClasses(long bytes) {
    PooledBlock block = sharedLists[SizeClasses.BEYOND].takeOf(bytes);
    return block == null ? null : discharged(block);
  }

  /** Takes this block if it is idle. */
  @Override
  public boolean take(PooledBlock block) {
    if (block.takeUp()) {
      withoutCredit(block);
      return true;
    }
    return takeFromList(block);
  }

  /** Ends the credit of a block of a stripe that the caller has taken. */
  private void withoutCredit(PooledBlock block) {
    if (block.takeCredit()) {
      discharged(block);
    }
  }

  private boolean takeFromList(PooledBlock block) {
    SlotBitmap bitmap = block.seenBitmap();
    long bit = block.bit();
    if (bitmap == null || !bitmap.take(bit)) {
      return false;
    }
    PooledBlock found = bitmap.at(bit);
    if (found != block) {
      // The block was freed meanwhile, and its place was given to another.
      if (found != null) {
        sharedLists[found.sizeClass].put(found);
      }
      return false;
    }
    discharged(block);
    return true;
  }

  private PooledBlock discharged(PooledBlock block) {
    budget.discharge(block.sizeClass, block.bytes);
    return block;
  }

  /** Gives a place to a block that the caller owns, in the caller's stripe if possible. */
  void settle(PooledBlock block) {
    if (block.sizeClass == SizeClasses.BEYOND || !stripes.settle(block)) {
      sharedLists[block.sizeClass].settle(block);
    }
  }

  /** Ends the place of a block that the caller owns. */
  void vacate(PooledBlock block) {
    withoutCredit(block);
    leavePlace(block);
  }

  private void leavePlace(PooledBlock block) {
    if (block.isInStripe()) {
      stripes.vacate(block);
    } else {
      sharedLists[block.sizeClass].vacate(block.bitmap(), block);
    }
  }

  /** Ends the place, if any, of a new block, which the caller owns and which was never idle. */
  void unsettle(PooledBlock block) {
    if (block.isInStripe() || block.seenBitmap() != null) {
      leavePlace(block);
    }
  }

  /**
   * Makes a block idle, and evicts older blocks if necessary. Returns false if the budget is
   * exhausted; the caller then still owns the block.
   */
  boolean put(PooledBlock block) {
    if (block.isCredited()) {
      block.idleTick = clock.getOpaque();
      putBack(block);
      return true;
    }
    return putCharged(block);
  }

  private boolean putCharged(PooledBlock block) {
    block.idleTick = clock.incrementAndGet();
    if (!budget.admits(block.bytes)) {
      return false;
    }
    for (int round = 0; round < MOST_ROUNDS; round++) {
      IdleBudget.ChargeResult result = budget.charge(block.sizeClass, block.bytes);
      if (result == IdleBudget.ChargeResult.GRANTED) {
        putDown(block);
        return true;
      }
      boolean inClass = result == IdleBudget.ChargeResult.CLASS_IS_FULL;
      int first = inClass ? block.sizeClass : 0;
      int last = inClass ? block.sizeClass : SizeClasses.BEYOND;
      if (!reclaimCredits(first, last)
          && evictFirst(first, last) == 0
          && evictSlab.getAsLong() == 0) {
        return false;
      }
    }
    return false;
  }

  /** Makes a block idle even beyond the caps, for parts of slabs, which cannot be freed alone. */
  @Override
  public void putAnyway(PooledBlock block) {
    block.idleTick = clock.incrementAndGet();
    budget.chargeAnyway(block.sizeClass, block.bytes);
    putDown(block);
  }

  /** Returns the charged bytes: of idle blocks, and of leased blocks with their credit. */
  long chargedBytes() {
    return budget.charged();
  }

  /**
   * Returns the idle bytes of a class, computed from the charged bytes. Reads the blocks of the
   * stripes and no others. Blocks that are taken or returned meanwhile may be counted wrongly.
   */
  long idleBytes(int sizeClass) {
    long charged = budget.charged(sizeClass);
    return charged == 0 || sizeClass == SizeClasses.BEYOND
        ? charged
        : charged - leasedCredits(sizeClass);
  }

  /** Returns the idle bytes of all classes, each counted as by {@link #idleBytes(int)}. */
  long idleBytes() {
    if (budget.charged() == 0) {
      return 0;
    }
    long bytes = 0;
    for (int sizeClass = 0; sizeClass <= SizeClasses.BEYOND; sizeClass++) {
      bytes += Math.max(0, idleBytes(sizeClass));
    }
    return bytes;
  }

  /** Returns whether any block of this class or a larger one seems idle. */
  boolean isAnyIdleFrom(int sizeClass) {
    for (int larger = sizeClass; larger <= SizeClasses.BEYOND; larger++) {
      if (idleBytes(larger) > 0) {
        return true;
      }
    }
    return false;
  }

  /** Returns the bytes of leased blocks of a class that are charged. */
  long leasedCredits(int sizeClass) {
    long[] bytes = new long[1];
    stripes.anyTaken(
        sizeClass,
        block -> {
          bytes[0] += block.isCredited() ? block.bytes : 0;
          return false;
        });
    return bytes[0];
  }

  /**
   * Evicts the block that the policy chooses, never a part of a slab. Returns its bytes, or 0 if
   * there was none. Blocks returned before this call count as older than blocks returned after it.
   */
  long evictFirst() {
    clock.incrementAndGet();
    return evictFirst(0, SizeClasses.BEYOND);
  }

  /** Returns whether more bytes are idle than the budget allows. */
  boolean isOverfull() {
    return budget.isOverdrawn();
  }

  private void putDown(PooledBlock block) {
    if (block.isInStripe()) {
      block.credit();
      putBack(block);
    } else {
      sharedLists[block.sizeClass].put(block);
    }
  }

  /** Makes a block idle again that had its credit a moment ago. */
  private void putBack(PooledBlock block) {
    if (!block.isInStripe()) {
      sharedLists[block.sizeClass].put(block);
      return;
    }
    block.layDown();
    checkCredit(block);
  }

  /** Makes the block of a dormant tenant idle. Returns false if it has none. */
  boolean putDormant(PooledBlock block, long number) {
    if (!block.layDownDormant(number, clock.getOpaque())) {
      return false;
    }
    checkCredit(block);
    return true;
  }

  private void checkCredit(PooledBlock block) {
    if (!block.isCredited()) {
      recover(block, true);
    }
  }

  /** Charges or evicts a block that is idle in its stripe without credit. */
  private void recover(PooledBlock block, boolean keeps) {
    while (block.takeUp()) {
      if (!block.isCredited()) {
        if (!keeps || !putCharged(block)) {
          evict.accept(block);
        }
        return;
      }
      block.layDown();
      if (block.isCredited()) {
        return;
      }
    }
  }

  /** Revokes the credits of leased blocks. Returns whether there were any. */
  private boolean reclaimCredits(int first, int last) {
    boolean reclaimed = false;
    for (int sizeClass = first; sizeClass <= Math.min(last, SizeClasses.COUNT - 1); sizeClass++) {
      reclaimed |= stripes.anyTaken(sizeClass, reclaiming);
    }
    return reclaimed;
  }

  private boolean reclaimCredit(PooledBlock block) {
    if (!block.takeCredit()) {
      return false;
    }
    discharged(block);
    recover(block, false);
    return true;
  }

  /**
   * Evicts the block of some classes that the policy chooses. Returns its bytes, or 0 if there is
   * none.
   */
  private long evictFirst(int first, int last) {
    PooledBlock evicted = null;
    for (int sizeClass = first; sizeClass <= last; sizeClass++) {
      evicted = sharedLists[sizeClass].firstToEvict(policy, evicted);
      if (sizeClass != SizeClasses.BEYOND) {
        evicted = stripes.firstToEvict(sizeClass, policy, evicted);
      }
    }
    if (evicted == null) {
      return 0;
    }
    if (take(evicted)) {
      evict.accept(evicted);
    }
    // If another thread took it, fewer bytes are idle too.
    return evicted.bytes;
  }
}
