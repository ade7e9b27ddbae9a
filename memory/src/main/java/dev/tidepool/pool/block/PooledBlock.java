package dev.tidepool.pool.block;

import dev.tidepool.pooling.EvictionPolicy;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.HostAccess;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * A block of a pool, with the pool's notes on it.
 *
 * <p><b>Ownership.</b> The thread or buffer that took it owns it alone until it goes back, once.
 * Its plain fields are its owner's: the pool's, while it is being moved or freed. Other threads may
 * read them, and see old values.
 */
public final class PooledBlock extends BlockHeader implements Reclaimable {
  /** The class of blocks that the pool never keeps. */
  static final int NOT_KEPT = -1;

  private static final int NO_STRIPE = -1;

  private static final AtomicLong NUMBERS = new AtomicLong();
  private static final VarHandle CREDITED;

  static {
    try {
      CREDITED = MethodHandles.lookup().findVarHandle(PooledBlock.class, "credited", boolean.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  final PoolCallbacks pool;
  final Block block;

  /** Bytes that count against the caps. */
  final long bytes;

  final int sizeClass;

  /** The slab that it is a part of. */
  final @Nullable Slab slab;

  /** In the order in which blocks were allocated. */
  final long number = NUMBERS.getAndIncrement();

  private final long createdNanos = System.nanoTime();

  /** Whether it will never be leased again. */
  public volatile boolean ending;

  /** The next block that waits to be freed. */
  @Nullable PooledBlock nextPendingFree;

  // When maintenance found it idle; true as long as `hits` is still `seenHits`. Both are written
  // by maintenance, under its lock.
  private long seenNanos;
  private long seenHits = -1;

  // Where it lies when it is idle: in a stripe, or else in a place of a shared list's bitmap.
  // Changed by its owner; other threads may see a mixture of old and new.
  private int stripe = NO_STRIPE;
  private @Nullable SlotBitmap bitmap;
  private int place;

  /**
   * Whether a block with a place in a stripe is charged to the budget although it may be leased, so
   * that it goes back without further accounting. Cleared by a thread that needs the memory.
   */
  private volatile boolean credited;

  // Whether it has bytes of a former tenant that could not be overwritten.
  private boolean unclean;

  PooledBlock(PoolCallbacks pool, Block block, long bytes, int sizeClass, @Nullable Slab slab) {
    this.pool = pool;
    this.block = block;
    this.bytes = bytes;
    this.sizeClass = sizeClass;
    this.slab = slab;
  }

  public PoolCallbacks pool() {
    return pool;
  }

  /** Returns the memory. For its owner only. */
  public Block block() {
    return block;
  }

  /**
   * Gives the block back to its pool and ends its use. Never throws, allocates or waits, unless the
   * block is one that is not kept: that is freed here. For its owner, once.
   */
  public void giveBack() {
    pool.giveBack(this);
  }

  /**
   * Takes a block that was seen to lie near the caller.
   *
   * @param next the {@link #nextDormant} of it, read before
   * @return whether it is the caller's now
   */
  public boolean takeNear(long next) {
    if (!takeUp(next)) {
      return false;
    }
    hits++;
    return true;
  }

  /**
   * Ends a tenant's dormancy and gives the block back, both with one exchange. Never throws,
   * allocates or waits.
   *
   * @return whether the caller ended it; if not, the block may be one that needs more care, and
   *     {@link #endDormancy} ends it
   */
  public boolean endDormancyAtOnce(long number) {
    return credited && pool.giveBackAtOnce(this, number);
  }

  /**
   * Gives the block up so that it is never leased again: for blocks whose segment may still be in
   * use. Never throws. For its owner, once.
   */
  public void discard() {
    pool.discard(this);
  }

  /**
   * Notes that its bytes could not be overwritten. A pool that has to clear its blocks does not
   * lease it again. For its owner.
   */
  public void markUnclean() {
    unclean = true;
  }

  boolean isUnclean() {
    return unclean;
  }

  /** Returns whether the driver was asked for it just now, so that it had no tenant before. */
  public boolean isFresh() {
    return hits == 0;
  }

  /** Returns the block of the driver that it is, or is a part of; unique in the process. */
  public long slabNumber() {
    return slab == null ? number : slab.parts().getFirst().number;
  }

  /** Returns the time since the driver gave it. */
  public long ageNanos() {
    return System.nanoTime() - createdNanos;
  }

  /** Returns whether a thread has just taken it, or is giving it back or freeing it. */
  public boolean isInTransition() {
    return !isOccupied() && !isIdle() && !ending;
  }

  void settled(SlotBitmap bitmap, int place) {
    this.stripe = NO_STRIPE;
    this.bitmap = bitmap;
    this.place = place;
  }

  void settled(int stripe) {
    this.stripe = stripe;
    this.bitmap = null;
  }

  /** Returns the bitmap where it lies when it is idle. For one of a shared list. */
  SlotBitmap bitmap() {
    return Objects.requireNonNull(bitmap, "a block of a shared list is on a bitmap");
  }

  /** Returns its place on its shared list. */
  int place() {
    return place;
  }

  /** Returns its place on its bitmap. */
  long bit() {
    return SlotBitmap.bitOf(place);
  }

  /** Where it lies when it is idle, if that is on a shared list, as far as can be seen. */
  @Nullable SlotBitmap seenBitmap() {
    return bitmap;
  }

  /** Returns the stripe where it lies when it is idle. */
  int stripe() {
    return stripe;
  }

  boolean isInStripe() {
    return stripe != NO_STRIPE;
  }

  boolean isCredited() {
    return credited;
  }

  void credit() {
    credited = true;
  }

  /** Takes the credit away; whether there was one, which is the caller's to discharge then. */
  boolean takeCredit() {
    return credited && CREDITED.compareAndSet(this, true, false);
  }

  /** Returns whether it seems idle. */
  public boolean isIdle() {
    SlotBitmap seen = bitmap;
    return isLaidDown() || (seen != null && seen.isIdle(bit()));
  }

  /** Clears what it holds, if the host may touch it now. */
  void zero() {
    MemorySegment segment = block.segment();
    if (segment != null && block.hostAccess() == HostAccess.DIRECT) {
      segment.fill((byte) 0);
    }
  }

  @Override
  public long bytes() {
    return bytes;
  }

  @Override
  public long rank(EvictionPolicy policy) {
    return switch (policy) {
      case LRU -> idleTick;
      case LFU -> hits;
      case FIFO, TIME_TO_LIVE -> number;
    };
  }

  /**
   * Returns whether it is evicted before another one, if any; parts of slabs are never evicted
   * alone.
   */
  boolean isEvictedBefore(@Nullable PooledBlock other, EvictionPolicy policy) {
    return slab == null && (other == null || rank(policy) < other.rank(policy));
  }

  @Override
  public boolean isOlderThan(long nanoTime) {
    return createdNanos - nanoTime <= 0;
  }

  @Override
  public boolean isAllIdle() {
    return isIdle();
  }

  @Override
  public boolean looksUnusedSince(long nanoTime, long now) {
    if (seenHits != hits) {
      seenHits = hits;
      seenNanos = now;
    }
    return seenNanos - nanoTime <= 0;
  }

  @Override
  public boolean wasUsedSinceLook() {
    return hits != seenHits;
  }

  @Override
  public boolean claim(IdleSet idle) {
    return idle.take(this);
  }

  @Override
  public void unclaim(IdleSet idle) {
    idle.putAnyway(this);
  }
}
