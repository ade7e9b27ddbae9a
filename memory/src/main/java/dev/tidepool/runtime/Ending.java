package dev.tidepool.runtime;

import dev.tidepool.TransferException;

/**
 * How a closed manager ends: its open buffers are closed and their work is waited for, and once the
 * last buffer is freed, so is what the manager owns besides, by whoever frees that buffer. An open
 * mapping puts that off until it closes.
 */
final class Ending {
  /**
   * How long a closing thread waits at most before it looks again: a thread that trims a pool on
   * behalf of another manager tells nobody when it is done.
   */
  private static final long LONGEST_WAIT_MILLIS = 10;

  private final StorageContext memory;
  private final OperationGate gate;
  private final LiveBuffers registry;
  private final Pools pools;
  private final Runnable last;
  // Made here, because the heap may be full when the manager closes.
  private final Runnable attempt = this::endIfSettled;
  private final Runnable change = this::somethingEnded;
  private final Once end = new Once();
  // Guarded by this: whether something ended since the closing thread looked last.
  private boolean changed;

  /**
   * Not begun.
   *
   * @param last frees what the manager owns besides its buffers; runs once
   */
  Ending(StorageContext memory, Pools pools, Runnable last) {
    this.memory = memory;
    this.gate = memory.state().gate();
    this.registry = memory.registry();
    this.pools = pools;
    this.last = last;
  }

  /**
   * Closes what is live until the manager has ended or only mappings are left.
   *
   * @param open is told what was open
   */
  void closeBuffers(LeakCensus open) {
    pools.awaitTenants();
    memory.state().endBy(change);
    do {
      for (Tenancy tenancy : registry.all()) {
        if (close(tenancy)) {
          open.add(tenancy);
        }
      }
      memory.awaitWork();
      // The next round closes what these have made.
      gate.awaitQuiet();
      endIfSettled();
    } while (!gate.hasEnded() && !registry.awaitMappings() && awaitChange());
    memory.state().endBy(attempt);
    // The last mapping may have been closed meanwhile.
    endIfSettled();
    if (gate.hasEnded()) {
      // Waits if that is another thread.
      end.run(last);
    }
  }

  private synchronized void somethingEnded() {
    changed = true;
    notifyAll();
  }

  /** Waits until something ended since the last call. Returns true. An interrupt stays set. */
  private boolean awaitChange() {
    long start = System.nanoTime();
    boolean interrupted = false;
    synchronized (this) {
      long left = LONGEST_WAIT_MILLIS;
      while (!changed && left > 0) {
        try {
          wait(left);
        } catch (InterruptedException e) {
          interrupted = true;
        }
        left = LONGEST_WAIT_MILLIS - (System.nanoTime() - start) / 1_000_000;
      }
      changed = false;
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    return true;
  }

  private static boolean close(Tenancy tenancy) {
    try {
      return tenancy.close();
    } catch (TransferException lost) {
      // It was open, and is freed now; what it lost was counted and reported.
      return true;
    }
  }

  /**
   * Frees what is left once every buffer is freed; an open mapping puts that off until it closes,
   * and a block that is on its way just now until the maintenance thread looks again.
   */
  private void endIfSettled() {
    // In this order: what is inside may make a buffer, and nobody comes in after it.
    if (gate.isQuiet() && registry.isEmpty() && gate.end()) {
      end.run(last);
    }
  }
}
