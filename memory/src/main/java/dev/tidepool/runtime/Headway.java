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
  private static final LongAdder LET_GO = new LongAdder();
  private static final AtomicInteger WAITING = new AtomicInteger();

  private Headway() {}

  /** A piece of work begins; before it has anything that others could want. */
  static void begun() {
    BEGUN.increment();
  }

  /** It has left the order of its storages. */
  static void ended() {
    ENDED.increment();
  }

  /** Work that is under way has let go of what it had; before it waits. */
  static void letGo() {
    LET_GO.increment();
  }

  /** Work that is under way waits for memory from now on; {@link #waited} follows. */
  static void waits() {
    WAITING.incrementAndGet();
  }

  static void waited() {
    WAITING.decrementAndGet();
  }

  /**
   * How often work has ended or let go of what it had. Who finds something in use, and then neither
   * that work goes on nor that this has grown, looked at all that there is.
   */
  static long releases() {
    return ENDED.sum() + LET_GO.sum();
  }

  /** Whether work is under way that does not wait for memory. */
  static boolean goesOn() {
    // In this order more may seem to be under way than is, never less.
    long ended = ENDED.sum();
    int waiting = WAITING.get();
    return BEGUN.sum() - ended > waiting;
  }
}
