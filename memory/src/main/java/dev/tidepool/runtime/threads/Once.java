package dev.tidepool.runtime.threads;

import dev.tidepool.spi.support.Uninterruptibly;
import org.jspecify.annotations.Nullable;

/**
 * An action that one thread runs once, while other threads that call it wait for its end. If it
 * throws, for example because the heap is full, it may run again.
 *
 * <p>The thread that runs the action does not wait for itself: a call from within the action
 * returns at once. The monitor guards the fields and is not held while the action runs.
 */
public final class Once {
  private @Nullable Thread runner;
  private boolean begun;
  private boolean done;

  /**
   * Runs the action unless a thread runs it or has completed it; returns whether it ran. Does not
   * wait. If the action throws, another call may try again.
   */
  public boolean tryRun(Runnable action) {
    synchronized (this) {
      if (begun) {
        return false;
      }
      begun = true;
      runner = Thread.currentThread();
    }
    boolean ended = false;
    try {
      action.run();
      ended = true;
    } finally {
      synchronized (this) {
        runner = null;
        begun = ended;
        done = ended;
        notifyAll();
      }
    }
    return true;
  }

  /** Runs the action, or waits until another thread has run it. */
  public void run(Runnable action) {
    boolean settled;
    do {
      settled = tryRun(action) || isSettled();
    } while (!settled);
  }

  /** Waits while another thread runs the action; returns false if that thread has failed. */
  private boolean isSettled() {
    awaitIfBegun();
    synchronized (this) {
      return done || Thread.currentThread().equals(runner);
    }
  }

  /**
   * Waits for the end of the action if another thread runs it now. Not interruptible: an interrupt
   * stays set.
   */
  public void awaitIfBegun() {
    Uninterruptibly.await(this, () -> !begun || done || Thread.currentThread().equals(runner));
  }
}
