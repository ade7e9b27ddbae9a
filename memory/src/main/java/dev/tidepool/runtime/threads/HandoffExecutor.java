package dev.tidepool.runtime.threads;

import java.util.concurrent.Executor;

/** An executor whose threads look for their next task as soon as they have ended one. */
public interface HandoffExecutor extends Executor {
  /** A task that does more at its end if its thread says so. */
  interface Task extends Runnable {
    /** The thread looks for its next task right after this one. Called before that ends. */
    void endsTask();

    /** Has the task handed in a little later, since the thread could not go on. */
    void leaveToBeHandedIn();
  }

  /**
   * Hands in a task by one of these threads that is about to end its own. It, or another that looks
   * anyway, takes it: nobody is woken, which would cost more than all else here.
   */
  void executeNext(Runnable task);

  /** Whether a listener of the user's is called when a task ends, for which nothing must wait. */
  default boolean tells() {
    return false;
  }
}
