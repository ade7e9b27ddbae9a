package dev.tidepool.runtime.threads;

import java.util.concurrent.Executor;

/** An executor whose threads look for their next task as soon as they have ended one. */
public interface HandoffExecutor extends Executor {
  /** A task that does more at its end if its thread says so. */
  interface Task extends Runnable {
    /** The calling thread looks for its next task right after this one. Called before that ends. */
    void endsTask();

    /** Leaves the hand-in to the maintenance thread, because the thread could not go on. */
    void leaveToBeHandedIn();
  }

  /**
   * Hands in a task. The caller is one of these threads, about to end its own task. It takes the
   * new task next, or another thread does that is looking for one. No thread is woken, because that
   * would cost more than the rest of this method.
   */
  void executeNext(Runnable task);

  /**
   * Returns whether a listener of the user's is called when a task ends, for which nothing must
   * wait.
   */
  default boolean tells() {
    return false;
  }
}
