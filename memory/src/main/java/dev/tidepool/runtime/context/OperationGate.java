package dev.tidepool.runtime.context;

import dev.tidepool.runtime.threads.StackReserve;
import dev.tidepool.spi.support.Uninterruptibly;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Counts the operations of one manager or session that use a device outside of any buffer's queue,
 * so that closing waits for them and admits no more.
 *
 * <p>A gate has three states. While it is open, it admits every operation. Once it is closed, it
 * refuses operations of users and still admits the library's own maintenance. Once it has ended, it
 * admits nothing. A gate can end only while nothing is inside.
 *
 * <p>Entries and exits are counted separately, each on cache lines of its own. The launches of one
 * thread often end on another, and the cache line of a common counter would move between the two.
 *
 * <p>Thread-safe. Entering and leaving take no lock, except to wake waiting threads; the monitor is
 * for threads that wait.
 */
public final class OperationGate {
  private static final int CLOSED = 1;
  private static final int ENDED = 2;
  private static final int ONE = 4;

  // Two lines of 64 bytes, which processors fetch in pairs.
  private static final int LINES = 16;
  private static final int ENTERED = LINES;
  private static final int LEFT = 2 * LINES;

  // The number of entries so far in units of ONE, with the flags in the bits below, and of exits.
  private final AtomicLongArray counts = new AtomicLongArray(3 * LINES);
  // Set before the flag. For threads that leave: threads that enter write the cache line of the
  // flag.
  private volatile boolean closes;

  /** Enters for an operation of a user; returns false once the gate is closed. */
  public boolean enter() {
    return enterUnless(CLOSED);
  }

  /** Enters for the library's own work; returns false once the gate has ended. */
  boolean enterUntilEnd() {
    return enterUnless(ENDED);
  }

  private boolean enterUnless(int flag) {
    // A thread that has entered needs the stack to leave.
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

  /** Leaves; called once for each entry. */
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
    // A thread may already wait.
    synchronized (this) {
      notifyAll();
    }
  }

  /** Returns whether the gate is closed and nothing is inside. */
  public boolean isQuiet() {
    // In this order: exits never exceed entries. If the two are equal, nothing was inside at the
    // second read.
    long left = counts.get(LEFT);
    long entered = counts.get(ENTERED);
    return (entered & CLOSED) != 0 && entered - left < ONE;
  }

  /** Waits until nothing is inside a closed gate. Not interruptible: an interrupt stays set. */
  public void awaitQuiet() {
    Uninterruptibly.await(this, this::isQuiet);
  }

  /** Ends a closed gate if nothing is inside. Returns whether this call ended it. */
  public boolean end() {
    if (!closes) {
      return false;
    }
    // Fails if an operation is inside, because entries exceed exits then.
    long left = counts.get(LEFT);
    return counts.compareAndSet(ENTERED, left | CLOSED, left | CLOSED | ENDED);
  }

  public boolean hasEnded() {
    return closes && (counts.get(ENTERED) & ENDED) != 0;
  }
}
