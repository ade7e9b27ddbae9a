package dev.tidepool.pool.block;

import dev.tidepool.pool.SizeClasses;
import dev.tidepool.pooling.EvictionPolicy;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Where a pool's blocks lie when they are idle: in stripes, and behind them on a shared list for
 * each size class, all of them charged to one budget.
 *
 * <p><b>Charges.</b> A block on a shared list is charged before it is put down and discharged after
 * it was taken. A block of a stripe stays charged while it is leased: that is its credit, with
 * which it comes back by one atomic operation. A thread that finds the budget used up takes the
 * credits of leased blocks away; such a block is charged again when it comes back. So the caps hold
 * at every moment.
 *
 * <p><b>A credit that is taken while its block comes back.</b> The returning thread puts the block
 * down, then looks at the credit; the other takes the credit, then looks whether the block is down.
 * Whatever the order, one of them sees the other's step and {@linkplain #recover recovers} it.
 *
 * <p>When a limit is reached, the blocks that the policy names first are evicted: by default the
 * least recently used, as told by a clock that ticks whenever a block is put down that is not
 * credited: blocks that came back between two ticks count as equally old. Among many only a sample
 * of each class is compared.
 */
final class IdleBlocks implements IdleSet {
  /** After so many rounds of evictions for a returning block, that block is evicted instead. */
  private static final int MOST_ROUNDS = 16;

  /** Blocks of a class that are compared when one is evicted. */
  private static final int SAMPLE = 64;

  private final ThreadStripes stripes =
      new ThreadStripes(Runtime.getRuntime().availableProcessors());
  // Blocks beyond all classes have one too, and no place in stripes.
  private final SharedFreeList[] sharedLists = new SharedFreeList[SizeClasses.COUNT_WITH_BEYOND];
  private final IdleBudget budget;
  private final EvictionPolicy policy;
  private final AtomicLong clock = new AtomicLong();
  private final Consumer<PooledBlock> evict;
  // Made once: returning a block allocates nothing, not even if another is evicted for it.
  private final Predicate<PooledBlock> reclaiming = this::reclaimCredit;
  private final BooleanSupplier evictSlab;

  /**
   * Creates a set without blocks.
   *
   * @param evict takes over a block that is evicted
   * @param evictSlab frees an idle slab, if there is one
   */
  IdleBlocks(PoolLimits limits, Consumer<PooledBlock> evict, BooleanSupplier evictSlab) {
    this.budget =
        new IdleBudget(limits.maxBytes(), limits.maxBytesPerClass(), SizeClasses.COUNT_WITH_BEYOND);
    this.policy = limits.policy();
    this.evict = evict;
    this.evictSlab = evictSlab;
    for (int i = 0; i < sharedLists.length; i++) {
      sharedLists[i] = new SharedFreeList(i < SizeClasses.CUT_COUNT);
    }
  }

  /** Returns the stripes, where a thread finds what it gave back before. */
  ThreadStripes stripes() {
    return stripes;
  }

  /** Takes a block of a class from wherever there is one. */
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

  /** Takes a block of a class that belongs to no stripe. */
  @Nullable PooledBlock takeShared(int sizeClass) {
    // First, because this may make objects, and a thread that throws then must not hold a block.
    boolean near = stripes.hasRoom(sizeClass);
    PooledBlock block = sharedLists[sizeClass].take();
    if (block == null) {
      return null;
    }
    SlotBitmap bitmap = block.bitmap();
    if (near && stripes.settle(block)) {
      // The next time it is found near. It leaves its place last, because it may get no other.
      sharedLists[sizeClass].vacate(bitmap, block);
    }
    return discharged(block);
  }

  /**
   * Takes a block of a class that is a little larger, by an eighth of the request at most, as every
   * block may be: the smallest that there is.
   */
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

  /** Takes a block above the largest class that has exactly that size. */
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

  /** A block of a stripe that was taken to leave it, or for a while. */
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
      // Freed meanwhile, and its place given to another.
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

  /** Gives a block, which its caller owns, a place: near the caller, if one is free. */
  void settle(PooledBlock block) {
    if (block.sizeClass == SizeClasses.BEYOND || !stripes.settle(block)) {
      sharedLists[block.sizeClass].settle(block);
    }
  }

  /** Ends the place of a block that its caller owns. */
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

  /** Ends the place of a block that its caller owns, if it has one; it was never put down. */
  void unsettle(PooledBlock block) {
    if (block.isInStripe() || block.seenBitmap() != null) {
      leavePlace(block);
    }
  }

  /**
   * Puts a block down, evicting older ones if it must; false, and it stays its caller's, if full.
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
      if (!reclaimCredits(first, last) && !evictFirst(first, last) && !evictSlab.getAsBoolean()) {
        return false;
      }
    }
    return false;
  }

  /** Puts a block down even if there is no room: for parts that cannot be freed alone. */
  @Override
  public void putAnyway(PooledBlock block) {
    block.idleTick = clock.incrementAndGet();
    budget.chargeAnyway(block.sizeClass, block.bytes);
    putDown(block);
  }

  /** Bytes that are charged: what lies idle, and leased blocks with their credit. */
  long chargedBytes() {
    return budget.charged();
  }

  /**
   * Idle bytes of a class, from what is charged. Looks at the stripes and at no other block. What
   * changes hands meanwhile may be missed or counted.
   */
  long idleBytes(int sizeClass) {
    long charged = budget.charged(sizeClass);
    return charged == 0 || sizeClass == SizeClasses.BEYOND
        ? charged
        : charged - leasedCredits(sizeClass);
  }

  /** Idle bytes of all classes, counted as those of one are. */
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

  /** Returns whether anything seems idle in that class or one above it. */
  boolean isAnyIdleFrom(int sizeClass) {
    for (int larger = sizeClass; larger <= SizeClasses.BEYOND; larger++) {
      if (idleBytes(larger) > 0) {
        return true;
      }
    }
    return false;
  }

  /** Bytes of the leased blocks of a class that are charged. */
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
   * Evicts the block that the policy names, never a part of a slab; false if there was none. Blocks
   * that came back before are older from now on than those that come back later.
   */
  boolean evictFirst() {
    clock.incrementAndGet();
    return evictFirst(0, SizeClasses.BEYOND);
  }

  /** Returns whether more is idle than the budget admits. */
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

  /** Puts a block of a stripe back that was credited a moment ago. */
  private void putBack(PooledBlock block) {
    if (!block.isInStripe()) {
      sharedLists[block.sizeClass].put(block);
      return;
    }
    block.layDown();
    checkCredit(block);
  }

  /** Puts down a block that has a dormant tenant; returns false if it has none. */
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

  /** Takes the credits of leased blocks away; whether there were any. */
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

  /** Evicts the block that the policy names, of some classes; false if there was none. */
  private boolean evictFirst(int first, int last) {
    PooledBlock evicted = null;
    for (int sizeClass = first; sizeClass <= last; sizeClass++) {
      evicted = sharedLists[sizeClass].firstToEvict(SAMPLE, policy, evicted);
      if (sizeClass != SizeClasses.BEYOND) {
        evicted = stripes.firstToEvict(sizeClass, policy, evicted);
      }
    }
    if (evicted == null) {
      return false;
    }
    if (take(evicted)) {
      evict.accept(evicted);
    }
    // If another thread took it, less is idle too.
    return true;
  }
}
