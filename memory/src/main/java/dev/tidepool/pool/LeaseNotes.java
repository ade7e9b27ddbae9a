package dev.tidepool.pool;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * What is written each time that a block changes hands. Fields of a superclass lie at the front of
 * an object, and the rest of a block is longer than a cache line: so blocks that lie side by side
 * on the heap do not slow each other's owners down.
 */
abstract class LeaseNotes {
  private static final VarHandle TENANT;

  static {
    try {
      TENANT = MethodHandles.lookup().findVarHandle(LeaseNotes.class, "tenant", Object.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /** Who has it; written with release, for the bit is what decides. */
  @SuppressWarnings("unused") // through TENANT
  private @Nullable Object tenant;

  /** How often it was leased after it was made. */
  long hits;

  /** The pool's clock when it became idle. */
  long idleTick;

  /** Says who has the block, for all who look at what lives; a block that goes back has none. */
  public void occupy(Object tenant) {
    TENANT.setRelease(this, tenant);
  }

  /** Who has the block; null if nobody has, or has not said so yet. */
  public @Nullable Object tenant() {
    return TENANT.getAcquire(this);
  }

  /** The block has no tenant any more; its owner is about to put it back. */
  void vacated() {
    TENANT.setRelease(this, null);
  }
}
