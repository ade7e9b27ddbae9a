package dev.tidepool.runtime.threads;

import java.util.concurrent.Executor;

/**
 * The end of a future. It is created before the work begins, so that the future completes even if
 * the heap is full when the work ends: a failed completion is tried again. That happens on threads
 * that users' stages may block, never on the maintenance thread.
 */
public abstract class FutureEnd extends Resumable implements Runnable {
  private final Executor threads;

  /**
   * Creates the end of a future.
   *
   * @param threads starts a thread for each task, which runs users' stages
   */
  protected FutureEnd(Executor threads) {
    this.threads = threads;
  }

  /** Completes the future. Called again if it threw. */
  protected abstract void complete();

  /** Completes the future on the calling thread or, if the heap is full, later on a new thread. */
  @Override
  public final void run() {
    try {
      complete();
    } catch (VirtualMachineError e) {
      leaveUnfinished();
    }
  }

  /** Completes the future on a new thread, at once or later. Throws nothing. */
  public final void completeElsewhere() {
    try {
      resume();
    } catch (Throwable e) {
      leaveUnfinished();
    }
  }

  @Override
  public void resume() {
    threads.execute(this);
  }
}
