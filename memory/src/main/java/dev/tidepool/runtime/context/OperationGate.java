package dev.tidepool.runtime.context;

import dev.tidepool.runtime.threads.StackReserve;
import dev.tidepool.spi.support.Uninterruptibly;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Counts the operations of one manager or session that use a device outside of any buffer's order,
 * so that closing waits for them and lets no further ones in.
 *
 * <p>A gate goes through three states. While it is open, every operation enters. Once it is closed,
 * operations of users are refused, and the library's own maintenance still enters. Once it has
 * ended, nothing enters; a gate ends only while nothing is inside.
 *
 * <p>Thread-safe. Entering and leaving take no lock; the monitor is for those that wait.
 */
public final class OperationGate {
  private static final int CLOSED = 1;
  private static final int ENDED = 2;
  private static final int ONE = 4;

  // The two flags, and the number of operations inside in the bits above them.
  private final AtomicInteger state = new AtomicInteger();

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
    int seen = state.get();
    while ((seen & flag) == 0) {
      int found = state.compareAndExchange(seen, seen + ONE);
      if (found == seen) {
        return true;
      }
      seen = found;
    }
    return false;
  }

  /** Leaves, once for each time that a thread entered. */
  public void leave() {
    if (state.addAndGet(-ONE) == CLOSED) {
      synchronized (this) {
        notifyAll();
      }
    }
  }

  /** Refuses operations of users from now on. */
  public void close() {
    state.getAndUpdate(now -> now | CLOSED);
  }

  /** Whether it is closed and nothing is inside. */
  public boolean isQuiet() {
    int now = state.get();
    return now < ONE && now >= CLOSED;
  }

  /** Waits until nothing is inside a closed gate. Not interruptible: an interrupt stays set. */
  public void awaitQuiet() {
    Uninterruptibly.await(this, this::isQuiet);
  }

  /** Ends a closed gate that nothing is inside of; whether it was this call that ended it. */
  public boolean end() {
    return state.compareAndSet(CLOSED, CLOSED | ENDED);
  }

  public boolean hasEnded() {
    return (state.get() & ENDED) != 0;
  }
}
