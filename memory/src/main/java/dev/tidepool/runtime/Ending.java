package dev.tidepool.runtime;

import dev.tidepool.LeakReport;
import dev.tidepool.TransferException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/**
 * How a closed manager ends: its open buffers are closed and their work is waited for, and once the
 * last buffer is freed, so is what the manager owns besides, by whoever frees that buffer. An open
 * mapping puts that off until it closes.
 */
final class Ending {
  private final AcceleratorMemory memory;
  private final LiveBuffers registry;
  private final Pools pools;
  private final Runnable last;
  // Those who use the device beside all buffers.
  private final AtomicInteger besides = new AtomicInteger();
  // No more is to be done but by who frees the last buffer.
  private volatile boolean waiting;
  private final AtomicBoolean ended = new AtomicBoolean();

  /**
   * Not begun.
   *
   * @param last frees what the manager owns besides its buffers; runs once
   */
  Ending(AcceleratorMemory memory, LiveBuffers registry, Pools pools, Runnable last) {
    this.memory = memory;
    this.registry = registry;
    this.pools = pools;
    this.last = last;
  }

  /** Does something with the device beside all buffers, before the end. */
  <T> T putOff(Supplier<T> action) {
    besides.incrementAndGet();
    try {
      return action.get();
    } finally {
      besides.decrementAndGet();
      goOn();
    }
  }

  /** Ends the manager if it is closed and this was what it waited for. */
  void goOn() {
    if (waiting) {
      endIfSettled();
    }
  }

  /** Closes what is live until the manager has ended or only mappings are left; what was open. */
  @SuppressWarnings("ThreadPriorityCheck") // a virtual thread must let others have its carrier
  LeakCensus closeBuffers() {
    LeakCensus open = new LeakCensus(memory, LeakReport.Cause.OPEN_AT_CLOSE);
    pools.awaitTenants();
    do {
      for (Tenancy tenancy : registry.all()) {
        if (close(tenancy)) {
          open.add(tenancy);
        }
      }
      memory.awaitWork();
      // Who closes, allocates or trims on another thread right now is done in a moment; on a
      // virtual thread perhaps only when this one makes room.
      Thread.yield();
      endIfSettled();
    } while (!ended.get() && !registry.awaitMappings());
    waiting = true;
    // The last mapping may have been closed meanwhile.
    endIfSettled();
    return open;
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
    if (besides.get() == 0 && registry.isEmpty() && ended.compareAndSet(false, true)) {
      last.run();
    }
  }
}
