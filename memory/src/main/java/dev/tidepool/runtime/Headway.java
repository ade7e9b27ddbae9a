package dev.tidepool.runtime;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

/**
 * How much work of the process is under way, for those who need what it holds: as long as work goes
 * on that does not itself wait for memory, some of it will end, and what it used is idle then. When
 * all that is left waits too, waiting is in vain.
 */
final class Headway {
  private static final LongAdder BEGUN = new LongAdder();
  private static final LongAdder ENDED = new LongAdder();
  private static final AtomicInteger WAITING = new AtomicInteger();

  private Headway() {}

  /** A piece of work begins to run. */
  static void begun() {
    BEGUN.increment();
  }

  /** It has left the order of its storages. */
  static void ended() {
    ENDED.increment();
  }

  /** Work that is under way waits for memory from now on; {@link #waited} follows. */
  static void waits() {
    WAITING.incrementAndGet();
  }

  static void waited() {
    WAITING.decrementAndGet();
  }

  /** How many pieces have ended. */
  static long endings() {
    return ENDED.sum();
  }

  /** Whether work is under way that does not wait for memory. */
  static boolean goesOn() {
    // In this order more may seem to be under way than is, never less.
    long ended = ENDED.sum();
    int waiting = WAITING.get();
    return BEGUN.sum() - ended > waiting;
  }
}
