package dev.tidepool.pool;

import dev.tidepool.Allocation;
import dev.tidepool.ElementType;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * What is written each time that a block changes hands. Fields of a superclass lie at the front of
 * an object, and the rest of a block is longer than a cache line: so blocks that lie side by side
 * on the heap do not slow each other's owners down.
 *
 * <p>A block is old, and a reference from an old object to a new one costs the collector more than
 * the rest of an allocation, above all when two threads do it. A tenant that does nothing with its
 * block is therefore noted without one: a number, and references that are only written where they
 * differ from those of the tenant before, which they seldom do.
 */
abstract class LeaseNotes {
  private static final VarHandle TENANT;
  private static final VarHandle DORMANT;

  static {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      TENANT = lookup.findVarHandle(LeaseNotes.class, "tenant", Object.class);
      DORMANT = lookup.findVarHandle(LeaseNotes.class, "dormant", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /** Who has it; written with release, for the bit is what decides. */
  @SuppressWarnings("unused") // through TENANT
  private @Nullable Object tenant;

  /** The number of the dormant tenant that has it, or had it last: then less than 0. */
  @SuppressWarnings("unused") // through DORMANT
  private volatile long dormant;

  // Of the last dormant tenant. Written by the block's owner while nobody is dormant.
  private long length;
  private @Nullable Object memory;
  private @Nullable ElementType<?> type;
  private @Nullable Allocation allocation;
  private @Nullable Object watch;

  /** How often it was leased after it was made. */
  long hits;

  /** The pool's clock when it became idle. */
  long idleTick;

  /**
   * A dormant tenant, as it stands in its block.
   *
   * @param number no other dormant tenant of the block has or had it
   * @param memory whose it is
   * @param type of its elements
   * @param length elements
   * @param allocation what was asked for
   * @param watch who notices when nobody holds it any more
   */
  public record Dormant(
      long number,
      Object memory,
      ElementType<?> type,
      long length,
      Allocation allocation,
      Object watch) {}

  /** The number of the next dormant tenant, more than 0. For the block's owner. */
  public long nextDormant() {
    return 1 - dormant;
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
      long number,
      Object memory,
      ElementType<?> type,
      long length,
      Allocation allocation,
      Object watch) {
    this.length = length;
    if (this.memory != memory) {
      this.memory = memory;
    }
    if (this.type != type) {
      this.type = type;
    }
    if (this.allocation != allocation) {
      this.allocation = allocation;
    }
    if (this.watch != watch) {
      this.watch = watch;
    }
    DORMANT.setRelease(this, number);
  }

  /** Whether that tenant has the block and asked nothing of it yet. */
  public boolean isDormant(long number) {
    return dormant == number;
  }

  /**
   * Ends a tenant's dormancy. Who does owns the block then, and says who has it or gives it back.
   *
   * @return whether it was the caller who ended it
   */
  public boolean endDormancy(long number) {
    return dormant == number && DORMANT.compareAndSet(this, number, -number);
  }

  /** The dormant tenant that has the block now; null if none has. */
  public @Nullable Dormant dormant() {
    while (true) {
      long number = dormant;
      if (number <= 0) {
        return null;
      }
      Object owner = memory;
      ElementType<?> elements = type;
      long count = length;
      Allocation asked = allocation;
      Object watcher = watch;
      VarHandle.acquireFence();
      // Notes are written while nobody is dormant, and numbers never come twice: they are all his.
      if (dormant == number
          && owner != null
          && elements != null
          && asked != null
          && watcher != null) {
        return new Dormant(number, owner, elements, count, asked, watcher);
      }
    }
  }

  /** Whether somebody has the block, and has said so. */
  boolean isOccupied() {
    return dormant > 0 || tenant() != null;
  }

  /** The block has no tenant any more; its owner is about to put it back. */
  void vacated() {
    if (tenant() != null) {
      TENANT.setRelease(this, null);
    }
  }
}
