package dev.tidepool.pool.block;

import dev.tidepool.spi.Block;
import dev.tidepool.spi.support.FieldHandle;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Objects;

/**
 * The right to use a block until it is returned.
 *
 * <p>Each acquisition creates a new lease, and a lease ends once. A second release, on any thread,
 * only increments a counter. So a block never has two leases.
 *
 * <p>Actions on the block before its release happen-before the actions of the next holder.
 */
public final class Lease {
  private static final VarHandle ENDED =
      FieldHandle.of(MethodHandles.lookup(), "ended", boolean.class);

  private final PooledBlock pooled;

  private volatile boolean ended;

  /** Creates the lease of a block that the caller has taken. The lease now owns the block. */
  public Lease(PooledBlock pooled) {
    this.pooled = pooled;
  }

  /** Creates the lease of a block. If the heap is full, returns the block to the pool. */
  public static Lease over(PooledBlock taken) {
    try {
      return new Lease(taken);
    } catch (OutOfMemoryError e) {
      taken.giveBack();
      throw e;
    }
  }

  /**
   * Returns the block, which is at least as large as requested.
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

  /** Returns the bytes of a block that the host can access. */
  public MemorySegment segment() {
    return Objects.requireNonNull(block().segment(), "a block of the host has a segment");
  }

  /**
   * Returns the block to the pool, which keeps or frees it according to its limits. The caller must
   * not use the block afterwards. Never throws and never waits for another thread's lease. A second
   * call is only counted.
   */
  public void release() {
    if (ENDED.compareAndSet(this, false, true)) {
      pooled.giveBack();
    } else {
      pooled.pool.countRepeatedRelease();
    }
  }

  /** Returns whether this is the unended lease of a block. */
  @SuppressWarnings("ReferenceEquality") // the very block is meant
  public boolean isOf(PooledBlock block) {
    return pooled == block && !ended;
  }

  /**
   * Ends the lease without returning the block. The caller, which has moved the contents, owns the
   * block.
   *
   * @throws IllegalStateException if the lease has ended
   */
  public void surrender() {
    if (!ENDED.compareAndSet(this, false, true)) {
      throw new IllegalStateException("a lease that has ended has no block to surrender");
    }
  }

  /**
   * Frees the block, so that it is never leased again. For blocks whose segment a user may still
   * have. Never throws. After the end of the lease, a call is only counted.
   */
  public void discard() {
    if (ENDED.compareAndSet(this, false, true)) {
      pooled.discard();
    } else {
      pooled.pool.countRepeatedRelease();
    }
  }
}
