package dev.tidepool.runtime.storage;

import dev.tidepool.pool.block.Lease;
import dev.tidepool.pool.block.PooledBlock;
import dev.tidepool.runtime.order.Operation;
import dev.tidepool.runtime.order.PriorUse;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How the block of a buffer that was closed while kernels use it comes to the next buffer before
 * they have ended: the next one's work comes behind theirs. Who claims the block first has it, the
 * next buffer or the end of the kernels; then it goes back to the pool as ever.
 *
 * <p>Guarded by the monitor of the closed buffer's storage.
 */
final class BlockHandover {
  private final Storage storage;
  private final Lease lease;
  private List<Operation> kernels;
  private final boolean kernelsAlone;
  private boolean claimed;
  private boolean abandoned;
  private boolean over;
  private @Nullable Storage successor;

  /**
   * Of a storage that is closed, with nothing but kernels under way; its monitor is held.
   *
   * @param kernels those that it asked for last
   * @param kernelsAlone whether it was never used by anything else
   */
  BlockHandover(Storage storage, Lease lease, List<Operation> kernels, boolean kernelsAlone) {
    this.storage = storage;
    this.lease = lease;
    this.kernels = kernels;
    this.kernelsAlone = kernelsAlone;
  }

  /** The block, for who wants to know of which pool and how large it is. */
  PooledBlock block() {
    return lease.pooled();
  }

  /** Whether nothing but kernels ever used the buffer, so that the next is likely used so too. */
  boolean isKernelsAlone() {
    return kernelsAlone;
  }

  /** Does something unless the kernels have ended. */
  void unlessOver(Runnable action) {
    synchronized (storage) {
      if (!over) {
        action.run();
      }
    }
  }

  /**
   * Takes the block for the next buffer, which {@link #passTo} makes its owner; null if it cannot
   * be had, or not now.
   */
  @Nullable PooledBlock claim() {
    synchronized (storage) {
      if (over || claimed || !storage.keepsToDevice(lease)) {
        return null;
      }
      claimed = true;
      // Nobody moves the bytes of the kernels any more: they are not the closed buffer's.
      storage.pins().close();
      lease.surrender();
    }
    try {
      storage.handedOn();
    } catch (Throwable e) {
      abandon();
      throw e;
    }
    PooledBlock block = lease.pooled();
    block.handedOn();
    return block;
  }

  /** The claimed block gets no next owner: it goes back to the pool once the kernels have ended. */
  void abandon() {
    boolean ended;
    synchronized (storage) {
      ended = over;
      abandoned = !ended;
    }
    if (ended) {
      block().giveBack();
    }
  }

  /** The claimed block's next owner, of which nobody knows yet, begins behind the kernels. */
  void passTo(Storage next) {
    synchronized (storage) {
      if (!over) {
        next.beginBehind(new PriorUse(kernels, storage.lastWork()));
        successor = next;
      }
    }
  }

  /** The kernels have ended; whether the block is another's. */
  boolean end() {
    boolean another;
    boolean nobodys;
    Storage next;
    synchronized (storage) {
      over = true;
      another = claimed;
      nobodys = abandoned;
      abandoned = false;
      next = successor;
      // Else who holds the handle of one closed buffer would hold all that came behind it.
      successor = null;
      kernels = List.of();
    }
    if (next != null) {
      next.lastUseEnded();
    }
    if (nobodys) {
      block().giveBack();
    }
    return another;
  }
}
