package dev.tidepool.pool.block;

import dev.tidepool.Allocation;
import dev.tidepool.ElementType;
import dev.tidepool.pool.CacheLinePadding;
import dev.tidepool.pool.ShortWait;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * The fields of a block that are written each time it changes hands.
 *
 * <p>A block is old, and a reference from an old object to a new one costs the collector more than
 * the rest of an allocation, above all when two threads do it. A dormant tenant, which has no
 * storage yet, is therefore noted without one: a number, and references that are only written where
 * they differ from those of the tenant before, which they seldom do. Such a tenant may copy to and
 * from the block, and hand its memory out as a segment.
 */
abstract class BlockHeader extends CacheLinePadding {
  private static final VarHandle TENANT;
  private static final VarHandle HOLDER;

  static {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      TENANT = lookup.findVarHandle(BlockHeader.class, "tenant", Object.class);
      HOLDER = lookup.findVarHandle(BlockHeader.class, "holder", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /** One thread or tenant owns it alone, or it is idle on a shared list. */
  private static final long OWNED = 0;

  /** It is idle, in its stripe. */
  private static final long LAID_DOWN = 1;

  /** Its dormant tenant has it. */
  private static final long DORMANT = 2;

  /** Its dormant tenant has it, and copies to or from it now. */
  private static final long COPYING = 3;

  private static final long STATE = 3;
  private static final int STATE_BITS = 2;

  /** The tenant; written with release, because the holder or the shared list's bit decides. */
  @SuppressWarnings("unused") // through TENANT
  private @Nullable Object tenant;

  /**
   * The number of the dormant tenant that has or had it last, and in the lowest bits whether it has
   * it still. While it is {@link #OWNED}, only its owner may write this.
   */
  @SuppressWarnings("unused") // through HOLDER
  private volatile long holder;

  // Describe the last dormant tenant. Written by the block's owner while no tenant is dormant.
  private long length;
  private @Nullable ElementType<?> type;
  private @Nullable Allocation allocation;
  private @Nullable Object watch;

  // Describe the last tenant that copied while it was dormant; written while it is COPYING.
  private long copier;
  private long copies;
  private int copyTick;

  // The last tenant that handed the memory out as a segment while it was dormant; written likewise.
  private long exposer;
  // How often it handed that segment out again. Written by any thread: a lost one does no harm.
  private long views;

  /** How often it was leased after it was made. */
  long hits;

  /** The pool's clock when it became idle. */
  long idleTick;

  /**
   * A dormant tenant, as it stands in its block.
   *
   * @param number no other dormant tenant of the block has or had it
   * @param type of its elements
   * @param length elements
   * @param allocation what was asked for
   * @param watch notices when no handle of the tenant is left
   */
  public record Dormant(
      long number, ElementType<?> type, long length, Allocation allocation, Object watch) {}

  /**
   * Returns the number of the next dormant tenant, more than 0. The block's owner may call this,
   * and so may a thread that is about to take the block, which fails if the number has changed
   * since. Such a thread reads the number first: a read of a word that was just exchanged waits for
   * the exchange.
   */
  public long nextDormant() {
    return (holder >>> STATE_BITS) + 1;
  }

  /** Sets the tenant, which is seen by all that look for live buffers. */
  public void occupy(Object tenant) {
    TENANT.setRelease(this, tenant);
  }

  /** Returns the tenant; null if there is none, if it is not set yet, or if it is dormant. */
  public @Nullable Object tenant() {
    return TENANT.getAcquire(this);
  }

  /**
   * Gives the block to a dormant tenant. For the block's owner, which has just taken it. The next
   * owner is the thread that {@linkplain #endDormancy ends} the dormancy.
   *
   * @param number {@link #nextDormant()}
   */
  @SuppressWarnings("ReferenceEquality") // an equal one will do, but identity is quicker to compare
  public void occupyDormant(
      long number, ElementType<?> type, long length, Allocation allocation, Object watch) {
    this.length = length;
    if (this.type != type || this.allocation != allocation || this.watch != watch) {
      note(type, allocation, watch);
    }
    HOLDER.setRelease(this, word(number, DORMANT));
  }

  @SuppressWarnings("ReferenceEquality") // as above
  private void note(ElementType<?> type, Allocation allocation, Object watch) {
    if (this.type != type) {
      this.type = type;
    }
    if (this.allocation != allocation) {
      this.allocation = allocation;
    }
    if (this.watch != watch) {
      this.watch = watch;
    }
  }

  /** Returns whether that tenant has the block and is dormant. */
  public boolean isDormant(long number) {
    return isDormant(number, holder);
  }

  private static boolean isDormant(long number, long holder) {
    return (holder | word(0, COPYING)) == word(number, COPYING) && (holder & STATE) >= DORMANT;
  }

  /**
   * Begins a copy of a dormant tenant, which {@link #endCopy} ends. Until then no thread ends the
   * dormancy; one that wants to waits.
   *
   * @param tick of a clock, which {@link #copyTick()} returns
   * @return whether it has begun; false if the tenant is not dormant, or copies on another thread
   */
  public boolean beginCopy(long number, int tick) {
    if (!HOLDER.compareAndSet(this, word(number, DORMANT), word(number, COPYING))) {
      return false;
    }
    if (copier != number) {
      copier = number;
      copies = 0;
    }
    copies++;
    copyTick = tick;
    return true;
  }

  public void endCopy(long number) {
    HOLDER.setRelease(this, word(number, DORMANT));
  }

  /**
   * Notes that a dormant tenant hands its memory out as a segment, which counts as a copy.
   *
   * @return whether it may; false if it is not dormant, or copies on another thread
   */
  public boolean expose(long number, int tick) {
    if (!beginCopy(number, tick)) {
      return false;
    }
    exposer = number;
    views = 0;
    endCopy(number);
    return true;
  }

  /**
   * Counts that a dormant tenant hands the same segment out again.
   *
   * @return whether it may; false if it is not dormant, or has handed none out
   */
  public boolean exposeAgain(long number, int tick) {
    if (!isDormant(number) || exposer != number) {
      return false;
    }
    views++;
    if (copyTick != tick) {
      copyTick = tick;
    }
    return true;
  }

  /**
   * Returns whether a tenant handed its memory out as a segment while it was dormant. For the
   * block's owner; a dormant tenant may do so any moment.
   */
  public boolean isExposed(long number) {
    return exposer == number;
  }

  /**
   * Returns how often a tenant copied, or handed its segment out, while it was dormant. For the
   * block's owner.
   */
  public long copies(long number) {
    return (copier == number ? copies : 0) + (exposer == number ? views : 0);
  }

  /** Returns the clock's tick at the last of those. For the block's owner. */
  public int copyTick() {
    return copyTick;
  }

  private static long word(long number, long state) {
    return number << STATE_BITS | state;
  }

  /**
   * Ends a tenant's dormancy, after the copy that it makes now. The caller owns the block then: it
   * sets the tenant or gives the block back.
   *
   * @return whether the caller ended it
   */
  public boolean endDormancy(long number) {
    int tries = 0;
    while (isDormant(number)) {
      if (HOLDER.compareAndSet(this, word(number, DORMANT), word(number, OWNED))) {
        return true;
      }
      ShortWait.pause(tries);
      // A tenant that copies all the time leaves short gaps: one try after each pause would miss
      // them.
      tries = tries < ShortWait.TRIES ? tries + 1 : 0;
    }
    return false;
  }

  /**
   * Ends a tenant's dormancy, and puts the block down in its stripe, at a tick of the pool's clock.
   *
   * @return whether the caller did
   */
  boolean layDownDormant(long number, long tick) {
    if (!isDormant(number)) {
      return false;
    }
    idleTick = tick;
    return HOLDER.compareAndSet(this, word(number, DORMANT), word(number, LAID_DOWN));
  }

  /** Puts the block down in its stripe. For its owner. */
  void layDown() {
    // With a fence behind it: the caller looks at the block's credit next.
    holder |= LAID_DOWN;
  }

  /** Takes the block if it is idle in its stripe; returns whether it is the caller's now. */
  boolean takeUp() {
    long now = holder;
    return (now & STATE) == LAID_DOWN && HOLDER.compareAndSet(this, now, now & ~STATE);
  }

  /**
   * Takes the block if it is idle in its stripe, and the next dormant tenant is still the one with
   * that number; returns whether it is the caller's now.
   */
  boolean takeUp(long next) {
    return HOLDER.compareAndSet(this, word(next - 1, LAID_DOWN), word(next - 1, OWNED));
  }

  /** Returns whether it is idle in its stripe. */
  boolean isLaidDown() {
    return (holder & STATE) == LAID_DOWN;
  }

  /** Returns the dormant tenant that has the block now; null if none has. */
  public @Nullable Dormant dormant() {
    while (true) {
      long now = holder;
      if ((now & STATE) < DORMANT) {
        return null;
      }
      ElementType<?> elements = type;
      long count = length;
      Allocation asked = allocation;
      Object watcher = watch;
      VarHandle.acquireFence();
      // Notes are written while no tenant is dormant, and numbers are unique: all are this one's.
      if (isDormant(now >>> STATE_BITS, holder)
          && elements != null
          && asked != null
          && watcher != null) {
        return new Dormant(now >>> STATE_BITS, elements, count, asked, watcher);
      }
    }
  }

  /** Returns whether the block has a tenant. */
  boolean isOccupied() {
    return (holder & STATE) >= DORMANT || tenant() != null;
  }

  /** The block has no tenant any more; its owner is about to put it back. */
  void vacated() {
    if (tenant() != null) {
      TENANT.setRelease(this, null);
    }
  }
}
