package dev.tidepool.runtime;

import java.util.concurrent.locks.ReentrantLock;

/**
 * How work over several buffers gets memory for all of them where that is short: one piece of work
 * of a device after another, and what each has already may be taken by the others until it is its
 * turn. If each kept a part while it waits for the rest, nobody would get all.
 */
final class Placing {
  private Placing() {}

  /**
   * Provides memory for work that is under way, when it is its turn.
   *
   * @param turn of the device, {@link AcceleratorMemory#placing}
   */
  static void inTurn(Work work, ReentrantLock turn, Runnable provide) {
    work.vacate();
    if (!turn.tryLock()) {
      Headway.waits();
      turn.lock();
      Headway.waited();
    }
    try {
      work.occupy();
      provide.run();
    } finally {
      turn.unlock();
    }
  }
}
