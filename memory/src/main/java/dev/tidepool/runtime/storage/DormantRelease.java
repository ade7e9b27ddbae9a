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
 * Frees the memory of dormant buffers. An atomic exchange ends the dormancy. The thread that
 * succeeds updates the counts and returns the block to the pool. The {@link StorageLifetime} of a
 * buffer that has a {@link Storage} frees that. Nothing here throws. Thread-safe.
 */
public final class DormantRelease {
  private final ManagerContext context;
  private final ManagerState state;
  private final AllocationLedger ledger;
  private final AllocationCounters counters;
  private final Device device;
  private final MemoryWaiters waiters;
  // Whether frees are recorded, in the order in which blocks change owners.
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

  /** Returns the tick of the coarse clock. {@link System#nanoTime()} takes longer than a copy. */
  public int tick() {
    return context.tick();
  }

  /** Returns the approximate {@link System#nanoTime()} of a tick. */
  long nanosOf(int tick) {
    return System.nanoTime() - Math.max(0, tick() - tick) * CoarseClock.NANOS;
  }

  /**
   * Frees a buffer, if it is dormant.
   *
   * @param number the number of the buffer among the tenants of its block
   * @param bytes the size of the buffer
   * @param leaked whether a segment that was handed out may still be in use
   * @return whether the calling thread freed the buffer
   */
  boolean freeDormant(PooledBlock block, long number, String tag, long bytes, boolean leaked) {
    if (!block.endDormancy(number)) {
      return false;
    }
    ledger.freed(tag, bytes);
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
   * Frees a dormant buffer with one exchange, if its block needs no other care. A close tries this
   * before {@link #freeDormant}.
   *
   * @param bytes the size of the buffer
   * @return whether the calling thread freed the buffer
   */
  public boolean freeAtOnce(PooledBlock block, long number, long bytes) {
    if (writesHistory || !block.endDormancyAtOnce(number)) {
      return false;
    }
    // Count first, so that statistics never include a buffer whose close() has returned.
    counters.freed(bytes);
    waiters.released(device);
    state.goOn();
    return true;
  }
}
