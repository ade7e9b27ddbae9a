package dev.tidepool.pool.block;

import dev.tidepool.Allocation;
import dev.tidepool.ElementType;
import dev.tidepool.pool.CacheLinePadding;
import dev.tidepool.pool.ShortWait;
import dev.tidepool.spi.support.FieldHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * The fields of a block that are written each time it gets another owner.
 *
 * <p>Blocks are old objects. A reference from an old object to a new one costs the collector more
 * than the rest of an allocation, especially with two threads. A dormant tenant, which has no
 * storage yet, is therefore recorded without an object of its own: by a number, and by references
 * that are written only if they differ from those of the previous tenant, which is rare. A dormant
 * tenant may copy to and from the block, and may hand out its memory as a segment.
 */
abstract class BlockHeader extends CacheLinePadding {
  private static final VarHandle TENANT =
      FieldHandle.of(MethodHandles.lookup(), "tenant", Object.class);
  private static final VarHandle HOLDER =
      FieldHandle.of(MethodHandles.lookup(), "holder", long.class);

  /** One thread or tenant owns the block, or it is idle on a shared list. */
  private static final long OWNED = 0;

  /** The block is idle in its stripe. */
  private static final long LAID_DOWN = 1;

  /** A dormant tenant has the block. */
  private static final long DORMANT = 2;

  /** A dormant tenant has the block and is copying to or from it. */
  private static final long COPYING = 3;

  private static final long STATE = 3;
  private static final int STATE_BITS = 2;

  /** The tenant. Written with release: the holder, or a bit of the shared list, decides. */
  @SuppressWarnings("unused") // through TENANT
  private @Nullable Object tenant;

  /**
   * The number of the last dormant tenant, and in the lowest bits the state. While the state is
   * {@link #OWNED}, only the owner may write this.
   */
  @SuppressWarnings("unused") // through HOLDER
  private volatile long holder;

  // Describe the last dormant tenant. Written by the block's owner while no tenant is dormant.
  private long length;
  private @Nullable ElementType<?> type;
  private @Nullable Allocation allocation;
  private @Nullable Object watch;

  // Describe the last tenant that copied while dormant. Written while the state is COPYING.
  private long copier;
  private long copies;
  private int copyTick;

  // The last tenant that handed out a segment while dormant. Written while the state is COPYING.
  private long exposer;
  // How often it handed out the segment again. Written by any thread; a lost update does no harm.
  private long views;

  /** How often the block was taken while idle. */
  long hits;

  /** The pool's clock when the block became idle. */
  long idleTick;

  /**
   * The record of a dormant tenant in its block.
   *
   * @param number unique among the dormant tenants of the block
   * @param type of the elements
   * @param length the number of elements
   * @param allocation the requested options
   * @param watch becomes unreachable with the tenant's last handle
   */
  public record Dormant(
      long number, ElementType<?> type, long length, Allocation allocation, Object watch) {}

  /**
   * Returns the number of the next dormant tenant, more than 0. The block's owner may call this. A
   * thread that is about to take the block may call it too; taking fails if the number has changed
   * since. That thread reads the number first, because a read of a word just after its exchange
   * waits for the exchange.
   */
  public long nextDormant() {
    return (holder >>> STATE_BITS) + 1;
  }

  /** Sets the tenant, which is visible to searches for live buffers. */
  public void occupy(Object tenant) {
    TENANT.setRelease(this, tenant);
  }

  /** Returns the tenant, or null if there is none, it is not set yet, or it is dormant. */
  public @Nullable Object tenant() {
    return TENANT.getAcquire(this);
  }

  /**
   * Gives the block to a dormant tenant. The caller owns the block and has just taken it. The next
   * owner is the thread that {@linkplain #endDormancy ends} the dormancy.
   *
   * @param number {@link #nextDormant()}
   */
  @SuppressWarnings(
      "ReferenceEquality") // equal objects would do, but identity is faster to compare
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

  /** Returns whether the tenant with this number has the block and is dormant. */
  public boolean isDormant(long number) {
    return isDormant(number, holder);
  }

  private static boolean isDormant(long number, long holder) {
    return (holder | word(0, COPYING)) == word(number, COPYING) && (holder & STATE) >= DORMANT;
  }

  /**
   * Begins a copy of a dormant tenant, which {@link #endCopy} ends. Until then a thread that ends
   * the dormancy waits.
   *
   * @param tick the tick that {@link #copyTick()} returns
   * @return whether the copy has begun; false if the tenant is not dormant, or copies on another
   *     thread
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
   * Records that a dormant tenant hands out its memory as a segment, which counts as a copy.
   *
   * @return whether it may; false if the tenant is not dormant, or copies on another thread
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
   * Counts that a dormant tenant hands out the same segment again.
   *
   * @return whether it may; false if the tenant is not dormant, or has handed out no segment
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
   * Returns whether a tenant handed out its memory as a segment while dormant. Only the block's
   * owner may call this; a dormant tenant may do so at any moment.
   */
  public boolean isExposed(long number) {
    return exposer == number;
  }

  /**
   * Returns how often a tenant copied, or handed out its segment again, while dormant. Only the
   * block's owner may call this.
   */
  public long copies(long number) {
    return (copier == number ? copies : 0) + (exposer == number ? views : 0);
  }

  /** Returns the clock's tick at the last copy or segment. Only the block's owner may call this. */
  public int copyTick() {
    return copyTick;
  }

  private static long word(long number, long state) {
    return number << STATE_BITS | state;
  }

  /**
   * Ends a tenant's dormancy, after its current copy. The caller then owns the block, and sets the
   * tenant or gives the block back.
   *
   * @return whether the caller ended the dormancy
   */
  public boolean endDormancy(long number) {
    int tries = 0;
    while (isDormant(number)) {
      if (HOLDER.compareAndSet(this, word(number, DORMANT), word(number, OWNED))) {
        return true;
      }
      ShortWait.pause(tries);
      // A tenant that copies continuously leaves short gaps, which one try after each pause would
      // miss.
      tries = tries < ShortWait.TRIES ? tries + 1 : 0;
    }
    return false;
  }

  /**
   * Ends a tenant's dormancy and makes the block idle in its stripe, at a tick of the pool's clock.
   *
   * @return whether the caller ended the dormancy
   */
  boolean layDownDormant(long number, long tick) {
    if (!isDormant(number)) {
      return false;
    }
    idleTick = tick;
    return HOLDER.compareAndSet(this, word(number, DORMANT), word(number, LAID_DOWN));
  }

  /** Makes the block idle in its stripe. Only its owner may call this. */
  void layDown() {
    // A full fence follows, because the caller reads the block's credit next.
    holder |= LAID_DOWN;
  }

  /** Takes the block if it is idle in its stripe. Returns whether the caller now owns it. */
  boolean takeUp() {
    long now = holder;
    return (now & STATE) == LAID_DOWN && HOLDER.compareAndSet(this, now, now & ~STATE);
  }

  /**
   * Takes the block if it is idle in its stripe and the next dormant tenant still has this number.
   * Returns whether the caller now owns it.
   */
  boolean takeUp(long next) {
    return HOLDER.compareAndSet(this, word(next - 1, LAID_DOWN), word(next - 1, OWNED));
  }

  /** Returns whether the block is idle in its stripe. */
  boolean isLaidDown() {
    return (holder & STATE) == LAID_DOWN;
  }

  /** Returns the dormant tenant that has the block now, or null if there is none. */
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
      // The fields are written while no tenant is dormant, and numbers are unique: all are of this
      // one.
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

  /** Clears the tenant. The block's owner is about to put the block back. */
  void vacated() {
    if (tenant() != null) {
      TENANT.setRelease(this, null);
    }
  }
}
