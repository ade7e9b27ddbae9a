package dev.tidepool.runtime;

import dev.tidepool.TransferException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/**
 * How a closed manager ends: its open buffers are closed and their work is waited for, and once the
 * last buffer is freed, so is what the manager owns besides, by whoever frees that buffer. An open
 * mapping puts that off until it closes.
 *
 * <p>Operations that use the device outside of any buffer's order, such as compiling or allocating,
 * pass an {@link OperationGate}. A closing manager lets no more of them in, and waits for those
 * that are inside before it ends.
 */
final class Ending {
  private static final int YIELDS = 100;
  private static final long PAUSE_NANOS = 100_000;

  private final AcceleratorMemory memory;
  private final LiveBuffers registry;
  private final Pools pools;
  private final Runnable last;
  private final OperationGate gate = new OperationGate();
  private final Once end = new Once();
  // No more is to be done but by who frees the last buffer.
  private volatile boolean waiting;

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

  /**
   * Begins an operation of a user, which ends with {@link #finish}; closing waits for that.
   *
   * @throws IllegalStateException if the manager is closed
   */
  void begin() {
    if (!gate.enter()) {
      throw memory.closedException();
    }
  }

  /** Ends what {@link #begin} began. */
  void finish() {
    gate.leave();
    goOn();
  }

  /**
   * Runs an operation of a user, which closing waits for.
   *
   * @throws IllegalStateException if the manager is closed
   */
  <T> T during(Supplier<T> operation) {
    begin();
    try {
      return operation.get();
    } finally {
      finish();
    }
  }

  /** Runs work of the library's own, also while the manager closes; not once it has ended. */
  void beforeEnd(Runnable upkeep) {
    if (!gate.enterUntilEnd()) {
      return;
    }
    try {
      upkeep.run();
    } finally {
      finish();
    }
  }

  /** Ends the manager if it is closed and this was what it waited for. */
  void goOn() {
    if (waiting) {
      endIfSettled();
    }
  }

  /** Lets no more operations of users begin. */
  void refuse() {
    gate.close();
  }

  /**
   * Closes what is live until the manager has ended or only mappings are left.
   *
   * @param open is told what was open
   */
  void closeBuffers(LeakCensus open) {
    pools.awaitTenants();
    int rounds = 0;
    do {
      for (Tenancy tenancy : registry.all()) {
        if (close(tenancy)) {
          open.add(tenancy);
        }
      }
      memory.awaitWork();
      // The next round closes what these have made.
      gate.awaitQuiet();
      pause(rounds++);
      endIfSettled();
    } while (!gate.hasEnded() && !registry.awaitMappings());
    waiting = true;
    // The last mapping may have been closed meanwhile.
    endIfSettled();
    if (gate.hasEnded()) {
      // Waits if that is another thread.
      end.run(last);
    }
  }

  /**
   * A thread that closes or trims right now is done in a moment; on a virtual thread perhaps only
   * when this one makes room. A driver may take longer.
   */
  @SuppressWarnings("ThreadPriorityCheck") // a virtual thread must let others have its carrier
  private static void pause(int rounds) {
    if (rounds < YIELDS) {
      Thread.yield();
    } else {
      LockSupport.parkNanos(PAUSE_NANOS);
    }
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
