package dev.tidepool.pool.block;

import dev.tidepool.pooling.EvictionPolicy;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.HostAccess;
import dev.tidepool.spi.support.FieldHandle;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * A block of a pool, with the pool's records about it.
 *
 * <p><b>Ownership.</b> The thread or buffer that took the block owns it alone until it is returned,
 * once. Its owner writes its plain fields; while the block is moved or freed, that is the pool.
 * Other threads may read them and see old values.
 */
public final class PooledBlock extends BlockHeader implements Reclaimable {
  /** The size class of blocks that the pool never keeps. */
  static final int NOT_KEPT = -1;

  private static final int NO_STRIPE = -1;

  private static final AtomicLong NUMBERS = new AtomicLong();
  private static final VarHandle CREDITED =
      FieldHandle.of(MethodHandles.lookup(), "credited", boolean.class);

  final PoolCallbacks pool;
  final Block block;

  /** The bytes that count against the caps. */
  final long bytes;

  final int sizeClass;

  /** The slab of which the block is a part. */
  final @Nullable Slab slab;

  /** Increases in the order of allocation. */
  final long number = NUMBERS.getAndIncrement();

  private final long createdNanos = System.nanoTime();

  /** Whether the block will never be leased again. */
  public volatile boolean ending;

  /** The next block that waits to be freed. */
  @Nullable PooledBlock nextPendingFree;

  // When maintenance found the block idle; valid while `hits` equals `seenHits`. Maintenance writes
  // both, under its lock.
  private long seenNanos;
  private long seenHits = -1;

  // Where the block lies when idle: in a stripe, or in a place of a shared list's bitmap. Its owner
  // writes these; other threads may see a mixture of old and new values.
  private int stripe = NO_STRIPE;
  private @Nullable SlotBitmap bitmap;
  private int place;

  /**
   * Whether a block with a place in a stripe is charged to the budget, even while it is leased, so
   * that it is returned without further accounting. Cleared by a thread that needs the budget.
   */
  private volatile boolean credited;

  // Whether bytes of a former tenant could not be overwritten.
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

  /** Returns the memory. Only the owner may call this. */
  public Block block() {
    return block;
  }

  /**
   * Returns the block to its pool and ends its use. Never throws, allocates or waits, except that a
   * block that is not kept is freed here. Only the owner may call this, once.
   */
  public void giveBack() {
    pool.giveBack(this);
  }

  /**
   * Takes a block of the caller's stripe that seemed idle.
   *
   * @param next the {@link #nextDormant} of the block, read before
   * @return whether the caller now owns the block
   */
  public boolean takeNear(long next) {
    if (!takeUp(next)) {
      return false;
    }
    hits++;
    return true;
  }

  /**
   * Ends a tenant's dormancy and returns the block, with one exchange. Never throws, allocates or
   * waits.
   *
   * @return whether the caller ended it; if not, the block may need more steps: use {@link
   *     #endDormancy}
   */
  public boolean endDormancyAtOnce(long number) {
    return credited && pool.giveBackAtOnce(this, number);
  }

  /**
   * Gives up the block so that it is never leased again. For blocks whose segment may still be in
   * use. Never throws. Only the owner may call this, once.
   */
  public void discard() {
    pool.discard(this);
  }

  /**
   * Records that the bytes could not be overwritten. A pool that clears its blocks does not lease
   * the block again. Only the owner may call this.
   */
  public void markUnclean() {
    unclean = true;
  }

  boolean isUnclean() {
    return unclean;
  }

  /** Returns whether the driver has just allocated the block, so that it had no tenant before. */
  public boolean isFresh() {
    return hits == 0;
  }

  /** Returns the process-wide number of the driver's block that this is, or is a part of. */
  public long slabNumber() {
    return slab == null ? number : slab.parts().getFirst().number;
  }

  /** Returns the time since the block was allocated. */
  public long ageNanos() {
    return System.nanoTime() - createdNanos;
  }

  /** Returns whether a thread has just taken the block, or is returning or freeing it. */
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

  /** Returns the bitmap that has the block's place. The block is on a shared list. */
  SlotBitmap bitmap() {
    return Objects.requireNonNull(bitmap, "a block of a shared list is on a bitmap");
  }

  /** Returns the block's place on its shared list. */
  int place() {
    return place;
  }

  /** Returns the bit of the block's place in its bitmap. */
  long bit() {
    return SlotBitmap.bitOf(place);
  }

  /** Returns the bitmap of the block's place, or null in a stripe. The value may be old. */
  @Nullable SlotBitmap seenBitmap() {
    return bitmap;
  }

  /** Returns the stripe of the block. */
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

  /** Takes the credit. Returns whether there was one, which the caller then discharges. */
  boolean takeCredit() {
    return credited && CREDITED.compareAndSet(this, true, false);
  }

  /** Returns whether the block seems idle. */
  public boolean isIdle() {
    SlotBitmap seen = bitmap;
    return isLaidDown() || (seen != null && seen.isIdle(bit()));
  }

  /** Clears the contents if the host can access them now. */
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

  /** Returns whether this block is evicted before another, if any. A part of a slab never is. */
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
