package dev.tidepool.pool.block;

import dev.tidepool.spi.Block;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The right to use a block until it is given back.
 *
 * <p>Each acquisition makes a new lease, and a lease ends once: a second call to give it back, on
 * any thread, finds it ended and changes only a counter. So a block never has two leases.
 *
 * <p>What a thread did with the block before it gave it back happens before what the next holder
 * does.
 */
public final class Lease {
  private static final VarHandle ENDED;

  static {
    try {
      ENDED = MethodHandles.lookup().findVarHandle(Lease.class, "ended", boolean.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final PooledBlock pooled;

  private volatile boolean ended;

  /** Creates the right to a block that its caller has taken and occupied, and gives up to this. */
  public Lease(PooledBlock pooled) {
    this.pooled = pooled;
  }

  /** Creates a lease of a block; if the heap has no room for it, the block goes back. */
  public static Lease over(PooledBlock taken) {
    try {
      return new Lease(taken);
    } catch (OutOfMemoryError e) {
      taken.giveBack();
      throw e;
    }
  }

  /**
   * Returns the block: at least as large as was asked for.
   *
   * @throws IllegalStateException if the lease has ended
   */
  public Block block() {
    if (ended) {
      throw new IllegalStateException(
          "this lease of the pool "
              + pooled.pool.name()
              + " has ended: its block of "
              + pooled.bytes
              + " bytes may have another holder");
    }
    return pooled.block;
  }

  /**
   * Gives the block back to the pool, which keeps it or frees it as its limits say. Nothing may use
   * it any more. Never throws and never waits for another thread's lease; a second call is counted
   * and ignored.
   */
  public void release() {
    if (ENDED.compareAndSet(this, false, true)) {
      pooled.giveBack();
    } else {
      pooled.pool.countRepeatedRelease();
    }
  }

  /** Whether this is the right to that block. */
  @SuppressWarnings("ReferenceEquality") // the very block is meant
  public boolean isOf(PooledBlock block) {
    return pooled == block && !ended;
  }

  /**
   * Ends the lease without giving the block back. The caller owns the block, whose contents it has
   * moved.
   *
   * @throws IllegalStateException if the lease has ended
   */
  public void surrender() {
    if (!ENDED.compareAndSet(this, false, true)) {
      throw new IllegalStateException("a lease that has ended has no block to surrender");
    }
  }

  /**
   * Frees the block, so that it is never leased again: for blocks whose segment a user may still
   * have. Never throws; after the lease's end it is counted and ignored.
   */
  public void discard() {
    if (ENDED.compareAndSet(this, false, true)) {
      pooled.discard();
    } else {
      pooled.pool.countRepeatedRelease();
    }
  }
}
