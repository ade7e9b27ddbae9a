package dev.tidepool.runtime.session;

import dev.tidepool.TransferException;
import dev.tidepool.runtime.context.OperationGate;
import dev.tidepool.runtime.lending.Lender;
import dev.tidepool.runtime.report.LeakSummary;
import dev.tidepool.runtime.storage.BufferCore;
import dev.tidepool.runtime.storage.BufferRegistry;
import dev.tidepool.runtime.storage.StorageContext;
import dev.tidepool.runtime.supply.MemoryPools;
import dev.tidepool.runtime.threads.Once;
import dev.tidepool.spi.support.Uninterruptibly;

/**
 * How a closed manager ends: its open buffers are closed and their work is waited for, and once the
 * last buffer is freed, so is what the manager owns besides, by the thread that frees that buffer.
 * An open mapping puts that off until it closes.
 */
final class ManagerShutdown {
  /**
   * How long a closing thread waits at most before it looks again: a thread that trims a pool on
   * behalf of another manager does not notify this one when it is done.
   */
  private static final long LONGEST_WAIT_MILLIS = 10;

  private final StorageContext context;
  private final Lender lender;
  private final OperationGate gate;
  private final BufferRegistry registry;
  private final MemoryPools pools;
  private final Runnable last;
  // Made here, because the heap may be full when the manager closes.
  private final Runnable attempt = this::endIfSettled;
  private final Runnable change = this::somethingEnded;
  private final Once end = new Once();
  // Guarded by this: whether something ended since the closing thread looked last.
  private boolean changed;

  /**
   * Creates the shutdown of a manager, which has not begun.
   *
   * @param last frees what the manager owns besides its buffers; runs once
   */
  ManagerShutdown(StorageContext context, Lender lender, MemoryPools pools, Runnable last) {
    this.context = context;
    this.lender = lender;
    this.gate = context.state().gate();
    this.registry = context.registry();
    this.pools = pools;
    this.last = last;
  }

  /**
   * Closes what is live until the manager has ended or only mappings are left.
   *
   * @param open is told what was open
   */
  void closeBuffers(LeakSummary open) {
    pools.awaitTenants();
    context.state().endBy(change);
    do {
      // Otherwise the close would wait for lent buffers.
      lender.endAll();
      for (BufferCore core : registry.all()) {
        if (close(core)) {
          open.add(core);
        }
      }
      context.awaitWork();
      // The next round closes what these operations have made.
      gate.awaitQuiet();
      endIfSettled();
    } while (!gate.hasEnded() && !registry.awaitMappings() && awaitChange());
    context.state().endBy(attempt);
    // The last mapping may have been closed meanwhile.
    endIfSettled();
    if (gate.hasEnded()) {
      // Waits if another thread runs it.
      end.run(last);
    }
  }

  private synchronized void somethingEnded() {
    changed = true;
    notifyAll();
  }

  /** Waits until something ended since the last call. Returns true. An interrupt stays set. */
  private boolean awaitChange() {
    synchronized (this) {
      Uninterruptibly.await(this, LONGEST_WAIT_MILLIS * 1_000_000, () -> changed);
      changed = false;
    }
    return true;
  }

  private static boolean close(BufferCore core) {
    try {
      return core.close();
    } catch (TransferException lost) {
      // The buffer was open and is freed now. Its lost bytes were counted and reported.
      return true;
    }
  }

  /**
   * Frees what is left once every buffer is freed. An open mapping postpones that until it closes,
   * and a block that is being moved until the maintenance thread looks again.
   */
  private void endIfSettled() {
    // In this order: an operation inside may make a buffer, and none enters after it.
    if (gate.isQuiet() && registry.isEmpty() && gate.end()) {
      end.run(last);
    }
  }
}
