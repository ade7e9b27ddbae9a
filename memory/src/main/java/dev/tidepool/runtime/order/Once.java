package dev.tidepool.runtime.order;

import dev.tidepool.spi.support.Uninterruptibly;
import org.jspecify.annotations.Nullable;

/**
 * An action that one thread runs once, while threads that ask for it meanwhile wait for its end.
 *
 * <p>The thread that runs it does not wait for itself: asking again from within the action returns
 * at once. The monitor guards the fields and is not held while the action runs.
 */
public final class Once {
  private @Nullable Thread runner;
  private boolean begun;
  private boolean done;

  /** Runs the action if no thread has asked before; whether it ran. Does not wait. */
  public boolean tryRun(Runnable action) {
    synchronized (this) {
      if (begun) {
        return false;
      }
      begun = true;
      runner = Thread.currentThread();
    }
    try {
      action.run();
    } finally {
      synchronized (this) {
        runner = null;
        done = true;
        notifyAll();
      }
    }
    return true;
  }

  /** Runs the action, or waits until the thread that asked first has run it. */
  public void run(Runnable action) {
    if (!tryRun(action)) {
      awaitIfBegun();
    }
  }

  /**
   * Waits for the end of the action if a thread, other than the caller, runs it now. Not
   * interruptible: an interrupt stays set.
   */
  public void awaitIfBegun() {
    Uninterruptibly.await(this, () -> !begun || done || Thread.currentThread().equals(runner));
  }
}
