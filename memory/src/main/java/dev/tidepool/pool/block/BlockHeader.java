package dev.tidepool.pool.block;

import dev.tidepool.Allocation;
import dev.tidepool.ElementType;
import dev.tidepool.pool.CacheLinePadding;
import dev.tidepool.pool.ShortWait;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * What is written each time that a block changes hands.
 *
 * <p>A block is old, and a reference from an old object to a new one costs the collector more than
 * the rest of an allocation, above all when two threads do it. A tenant that does nothing with its
 * block is therefore noted without one: a number, and references that are only written where they
 * differ from those of the tenant before, which they seldom do.
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

  /** Somebody owns it alone, or it lies on a shelf. */
  private static final long OWNED = 0;

  /** It is idle, in its stripe. */
  private static final long LAID_DOWN = 1;

  /** Its dormant tenant has it. */
  private static final long DORMANT = 2;

  /** Its dormant tenant has it, and copies to or from it just now. */
  private static final long COPYING = 3;

  private static final long STATE = 3;
  private static final int STATE_BITS = 2;

  /** Who has it; written with release, for the holder or the shelf's bit is what decides. */
  @SuppressWarnings("unused") // through TENANT
  private @Nullable Object tenant;

  /**
   * Whose it is: the number of the dormant tenant that has or had it last, and in the lowest bits
   * whether it has it still. While it is {@link #OWNED}, only its owner may write this.
   */
  @SuppressWarnings("unused") // through HOLDER
  private volatile long holder;

  // Of the last dormant tenant. Written by the block's owner while nobody is dormant.
  private long length;
  private @Nullable ElementType<?> type;
  private @Nullable Allocation allocation;
  private @Nullable Object watch;

  // Of the last tenant that copied while it was dormant; written while it is COPYING.
  private long copier;
  private long copies;
  private int copyTick;

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
   * @param watch whose it is, and who notices when nobody holds it any more
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

  /** Says who has the block, for all who look at what lives; a block that goes back has none. */
  public void occupy(Object tenant) {
    TENANT.setRelease(this, tenant);
  }

  /** Who has the block; null if nobody has, has not said so yet, or is dormant. */
  public @Nullable Object tenant() {
    return TENANT.getAcquire(this);
  }

  /**
   * Says that a tenant has the block who asks nothing of it yet. For the block's owner, who has
   * just taken it; who has it from then on is who {@linkplain #endDormancy ends} that.
   *
   * @param number {@link #nextDormant()}
   */
  @SuppressWarnings("ReferenceEquality") // another equal one will do, but the same is quicker seen
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

  /** Whether that tenant has the block and asked nothing of it yet but copies. */
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

  /** Ends a copy. */
  public void endCopy(long number) {
    HOLDER.setRelease(this, word(number, DORMANT));
  }

  /** How often a tenant copied while it was dormant. For the block's owner. */
  public long copies(long number) {
    return copier == number ? copies : 0;
  }

  /** The clock's tick at the last of those copies. For the block's owner. */
  public int copyTick() {
    return copyTick;
  }

  private static long word(long number, long state) {
    return number << STATE_BITS | state;
  }

  /**
   * Ends a tenant's dormancy, after the copy that it makes just now. Who does owns the block then,
   * and says who has it or gives it back.
   *
   * @return whether it was the caller who ended it
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
   * Ends a tenant's dormancy, and puts the block down in its stripe, at a tick of the pool's clock;
   * whether the caller did.
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
    // With a fence behind it: who puts a block down looks at its credit next.
    holder |= LAID_DOWN;
  }

  /** Takes the block if it lies in its stripe; whether it is the caller's now. */
  boolean takeUp() {
    long now = holder;
    return (now & STATE) == LAID_DOWN && HOLDER.compareAndSet(this, now, now & ~STATE);
  }

  /**
   * Takes the block if it lies in its stripe, and the next dormant tenant is still the one with
   * that number; whether it is the caller's now.
   */
  boolean takeUp(long next) {
    return HOLDER.compareAndSet(this, word(next - 1, LAID_DOWN), word(next - 1, OWNED));
  }

  /** Whether it lies in its stripe. */
  boolean isLaidDown() {
    return (holder & STATE) == LAID_DOWN;
  }

  /** The dormant tenant that has the block now; null if none has. */
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
      // Notes are written while nobody is dormant, and numbers never come twice: they are all his.
      if (isDormant(now >>> STATE_BITS, holder)
          && elements != null
          && asked != null
          && watcher != null) {
        return new Dormant(now >>> STATE_BITS, elements, count, asked, watcher);
      }
    }
  }

  /** Whether somebody has the block, and has said so. */
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
