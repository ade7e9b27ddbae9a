package dev.tidepool.runtime.threads;

import java.util.concurrent.Executor;

/**
 * The end of a future. It is there before the work begins, so that the future completes although
 * the heap is full when the work ends: what a thread could not complete is tried again. That is
 * done on threads that users' stages may block, and never on the maintenance thread.
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

  /**
   * Completes the future on the calling thread or, if the heap is full, later on one of its own.
   */
  @Override
  public final void run() {
    try {
      complete();
    } catch (VirtualMachineError e) {
      leaveUnfinished();
    }
  }

  /** Completes the future on a thread of its own, at once or later. Throws nothing. */
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
