package dev.tidepool.runtime.storage;

import dev.tidepool.pool.block.PooledBlock;
import dev.tidepool.runtime.context.CoarseClock;
import dev.tidepool.runtime.context.ManagerContext;
import dev.tidepool.runtime.context.ManagerState;
import dev.tidepool.runtime.metering.AllocationCounters;
import dev.tidepool.runtime.metering.AllocationLedger;
import dev.tidepool.runtime.order.MemoryWaiters;
import dev.tidepool.spi.Device;

/**
 * Gives the memory of dormant buffers back: the atomic exchange that ends the dormancy comes first,
 * then the buffer leaves the accounts, and its block goes to the pool. Buffers that have a {@link
 * Storage} are freed by its {@link StorageLifetime}. Nothing here throws. Thread-safe.
 */
public final class DormantRelease {
  private final ManagerContext context;
  private final ManagerState state;
  private final AllocationLedger ledger;
  private final AllocationCounters counters;
  private final Device device;
  private final MemoryWaiters waiters;
  // In the order in which blocks change hands.
  private final boolean writesHistory;

  DormantRelease(ManagerContext context, AllocationLedger ledger, AllocationCounters counters) {
    this.context = context;
    this.state = context.state();
    this.device = context.device();
    this.waiters = context.waiters();
    this.ledger = ledger;
    this.counters = counters;
    this.writesHistory = ledger.history() != null;
  }

  /** Returns the session's coarse clock, for code that cannot afford {@link System#nanoTime()}. */
  public int tick() {
    return context.tick();
  }

  /** About when the {@link #tick()} was that, in terms of {@link System#nanoTime()}. */
  long nanosOf(int tick) {
    return System.nanoTime() - Math.max(0, tick() - tick) * CoarseClock.NANOS;
  }

  /** A buffer leaves the accounts. */
  void countFreed(String tag, long bytes) {
    ledger.freed(tag, bytes);
  }

  /**
   * Ends a buffer, if it is dormant.
   *
   * @param number the buffer core's, in its block
   * @param bytes of the buffer
   * @param leaked whether a segment of it may still be in use, if one was handed out
   * @return whether the caller ended it
   */
  boolean freeDormant(PooledBlock block, long number, String tag, long bytes, boolean leaked) {
    if (!block.endDormancy(number)) {
      return false;
    }
    countFreed(tag, bytes);
    if (leaked && block.isExposed(number)) {
      block.discard();
    } else {
      block.giveBack();
    }
    waiters.released(device);
    state.goOn();
    return true;
  }

  /**
   * Ends a dormant buffer with one exchange, if its block needs no other care. A close tries this
   * first.
   *
   * @param bytes of the buffer
   * @return whether the caller ended it; if not, {@link #freeDormant} may
   */
  public boolean freeAtOnce(PooledBlock block, long number, long bytes) {
    if (writesHistory || !block.endDormancyAtOnce(number)) {
      return false;
    }
    // Counted first, so that statistics never show a buffer whose close() has returned.
    counters.freed(bytes);
    waiters.released(device);
    state.goOn();
    return true;
  }
}
