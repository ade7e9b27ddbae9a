package dev.tidepool.runtime.context;

import dev.tidepool.runtime.threads.StackReserve;
import dev.tidepool.spi.support.Uninterruptibly;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Counts the operations of one manager or session that use a device outside of any buffer's order,
 * so that closing waits for them and lets no further ones in.
 *
 * <p>A gate goes through three states. While it is open, every operation enters. Once it is closed,
 * operations of users are refused, and the library's own maintenance still enters. Once it has
 * ended, nothing enters; a gate ends only while nothing is inside.
 *
 * <p>Those that entered and those that left are counted apart, each on cache lines of its own: the
 * launches of one thread often end on another, and a count of both would travel between the two.
 *
 * <p>Thread-safe. Entering and leaving take no lock; the monitor is for those that wait.
 */
public final class OperationGate {
  private static final int CLOSED = 1;
  private static final int ENDED = 2;
  private static final int ONE = 4;

  // Two lines of 64 bytes, which processors fetch in pairs.
  private static final int LINES = 16;
  private static final int ENTERED = LINES;
  private static final int LEFT = 2 * LINES;

  // How many entered ever, in units of ONE, with the flags in the bits below; how many left.
  private final AtomicLongArray counts = new AtomicLongArray(3 * LINES);
  // Set before the flag. For threads that leave: those that enter write the line of the flag.
  private volatile boolean closes;

  /** Enters for a user's operation; false once the gate is closed. */
  public boolean enter() {
    return enterUnless(CLOSED);
  }

  /** Enters for the library's own work; false once the gate has ended. */
  boolean enterUntilEnd() {
    return enterUnless(ENDED);
  }

  private boolean enterUnless(int flag) {
    // A thread that is inside must have the stack to leave.
    StackReserve.check();
    long seen = counts.get(ENTERED);
    while ((seen & flag) == 0) {
      long found = counts.compareAndExchange(ENTERED, seen, seen + ONE);
      if (found == seen) {
        return true;
      }
      seen = found;
    }
    return false;
  }

  /** Leaves, once for each time that a thread entered. */
  public void leave() {
    counts.addAndGet(LEFT, ONE);
    if (closes) {
      synchronized (this) {
        notifyAll();
      }
    }
  }

  /** Refuses operations of users from now on. */
  public void close() {
    closes = true;
    counts.getAndUpdate(ENTERED, now -> now | CLOSED);
    // A thread may wait since before.
    synchronized (this) {
      notifyAll();
    }
  }

  /** Returns whether it is closed and nothing is inside. */
  public boolean isQuiet() {
    // In this order: what is equal was equal when the second was read, because none leaves that has
    // not entered.
    long left = counts.get(LEFT);
    long entered = counts.get(ENTERED);
    return (entered & CLOSED) != 0 && entered - left < ONE;
  }

  /** Waits until nothing is inside a closed gate. Not interruptible: an interrupt stays set. */
  public void awaitQuiet() {
    Uninterruptibly.await(this, this::isQuiet);
  }

  /** Ends a closed gate that nothing is inside of; whether it was this call that ended it. */
  public boolean end() {
    if (!closes) {
      return false;
    }
    // Fails if one is inside: then more have entered.
    long left = counts.get(LEFT);
    return counts.compareAndSet(ENTERED, left | CLOSED, left | CLOSED | ENDED);
  }

  public boolean hasEnded() {
    return closes && (counts.get(ENTERED) & ENDED) != 0;
  }
}
