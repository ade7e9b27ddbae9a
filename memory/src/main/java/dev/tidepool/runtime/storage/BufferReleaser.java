package dev.tidepool.runtime.storage;

import dev.tidepool.pool.block.PooledBlock;
import dev.tidepool.runtime.context.CoarseClock;
import dev.tidepool.runtime.context.ManagerState;
import dev.tidepool.runtime.metering.AllocationCounters;
import dev.tidepool.runtime.metering.AllocationLedger;
import dev.tidepool.runtime.order.MemoryWaiters;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.support.FailureLog;

/**
 * Gives the memory of buffers back when nothing uses it any more: guard zones are inspected, the
 * buffer leaves the accounts, and then its blocks go. The only exception is a dormant buffer: the
 * atomic exchange that returns its block to the pool comes first. When that is, {@link Storage}
 * decides. Nothing here throws. Thread-safe.
 */
public final class BufferReleaser {
  private final StorageContext context;
  private final ManagerState state;
  private final AllocationLedger ledger;
  private final AllocationCounters counters;
  private final Device device;
  private final MemoryWaiters waiters;
  private final PendingReleases<Storage> pending = new PendingReleases<>();
  // In the order in which blocks change hands.
  private final boolean writesHistory;

  BufferReleaser(StorageContext context, AllocationLedger ledger, AllocationCounters counters) {
    this.context = context;
    this.state = context.state();
    this.device = context.device();
    this.waiters = context.waiters();
    this.ledger = ledger;
    this.counters = counters;
    this.writesHistory = ledger.history() != null;
  }

  /** Returns whether blocks may go back on the calling thread, which must not block a carrier. */
  boolean mayFreeOnThisThread(Storage storage) {
    return !Thread.currentThread().isVirtual()
        || context.scrubber().asksNothing(storage.isExclusive());
  }

  /** The storages whose memory is about to be given back. */
  public PendingReleases<Storage> pending() {
    return pending;
  }

  /** Returns the session's coarse clock, for code that cannot afford {@link System#nanoTime()}. */
  public int tick() {
    return context.tick();
  }

  /** About when the {@link #tick()} was that, in terms of {@link System#nanoTime()}. */
  long nanosOf(int tick) {
    return System.nanoTime() - Math.max(0, tick() - tick) * CoarseClock.NANOS;
  }

  /** Looks at the guard zones of a storage whose blocks are about to go, where it has any. */
  void inspectGuards(Storage storage) {
    if (context.isParanoid()) {
      context.guards().inspect(storage.coherence().backing().owned(), storage.core()::info);
    }
  }

  /**
   * The end of a storage; called once, by its last work.
   *
   * @param hostReusable whether what the host reaches may have another owner
   * @param deviceReusable whether the device's own memory may
   */
  void free(Storage storage, boolean hostReusable, boolean deviceReusable) {
    try {
      inspectGuards(storage);
    } catch (RuntimeException | Error e) {
      failed(storage, e);
    }
    countFreed(storage.core());
    try {
      storage.coherence().backing().free(hostReusable, deviceReusable);
    } catch (RuntimeException | Error e) {
      failed(storage, e);
    }
    storage.useState().freed();
    try {
      context.registry().gone(storage.core());
      storage.core().forgetMadeStorage();
      waiters.released(device);
      state.goOn();
    } catch (OutOfMemoryError e) {
      // What was removed is gone all the same, and the maintenance thread looks for the end again.
      return;
    }
  }

  /** A buffer leaves the accounts. */
  private void countFreed(BufferCore core) {
    ledger.freed(core.tag(), core.byteSize());
  }

  /**
   * Ends a buffer, if it is dormant.
   *
   * @param number the buffer core's, in its block
   * @param leaked whether a segment of it may still be in use, if one was handed out
   * @return whether the caller ended it
   */
  boolean freeDormant(BufferCore core, PooledBlock block, long number, boolean leaked) {
    if (!block.endDormancy(number)) {
      return false;
    }
    countFreed(core);
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

  /** Logs a failure to give the memory of a storage back; no caller could handle it. */
  void failed(Storage storage, Throwable failure) {
    FailureLog.warn("the memory of ", storage, " could not be given back", failure);
  }
}
