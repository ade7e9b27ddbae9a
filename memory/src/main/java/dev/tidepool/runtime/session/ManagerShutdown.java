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
 * Ends a closed manager. Closes its open buffers and waits for their work. The thread that frees
 * the last buffer then frees everything else that the manager owns. An open mapping postpones the
 * end until the mapping closes.
 */
final class ManagerShutdown {
  /**
   * The longest wait of a closing thread between two checks. A thread that trims a pool on behalf
   * of another manager does not notify this one when it is done.
   */
  private static final long LONGEST_WAIT_MILLIS = 10;

  private final StorageContext context;
  private final Lender lender;
  private final OperationGate gate;
  private final BufferRegistry registry;
  private final MemoryPools pools;
  private final Runnable last;
  // Created here, because the heap may be full when the manager closes.
  private final Runnable attempt = this::endIfSettled;
  private final Runnable change = this::somethingEnded;
  private final Once end = new Once();
  // Guarded by this: whether something ended since the closing thread last checked.
  private boolean changed;

  /**
   * Creates the shutdown of a manager, but does not begin it.
   *
   * @param last frees what the manager owns besides its buffers; is run once
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
   * Closes live buffers until the manager has ended or only mappings are left.
   *
   * @param open collects the buffers that were open
   */
  void closeBuffers(LeakSummary open) {
    pools.awaitTenants();
    context.state().endBy(change);
    do {
      // Otherwise closing would wait for lent buffers.
      lender.endAll();
      for (BufferCore core : registry.all()) {
        if (close(core)) {
          open.add(core);
        }
      }
      context.awaitWork();
      // The next round closes buffers that these operations have created.
      gate.awaitQuiet();
      endIfSettled();
    } while (!gate.hasEnded() && !registry.awaitMappings() && awaitChange());
    context.state().endBy(attempt);
    // The last mapping may have been closed meanwhile.
    endIfSettled();
    if (gate.hasEnded()) {
      // If another thread runs it, waits for that thread.
      end.run(last);
    }
  }

  private synchronized void somethingEnded() {
    changed = true;
    notifyAll();
  }

  /** Waits briefly until something ended since the last call. Returns true. */
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
   * Frees the rest once every buffer is freed. An open mapping postpones this until it closes. A
   * block that is being moved postpones it until the maintenance thread checks again.
   */
  private void endIfSettled() {
    // In this order: an operation inside the gate may create a buffer, and none enters afterwards.
    if (gate.isQuiet() && registry.isEmpty() && gate.end()) {
      end.run(last);
    }
  }
}
