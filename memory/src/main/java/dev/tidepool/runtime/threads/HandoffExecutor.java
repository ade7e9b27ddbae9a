package dev.tidepool.runtime.threads;

import java.util.concurrent.Executor;

/** An executor whose threads look for their next task as soon as they have ended one. */
public interface HandoffExecutor extends Executor {
  /** A task that can hand over another one at its end. */
  interface Task extends Runnable {
    /** Notes, before this task ends, that the calling thread looks for its next task afterwards. */
    void endsTask();

    /** Leaves the hand-in to the maintenance thread, because this thread cannot continue. */
    void leaveToBeHandedIn();
  }

  /**
   * Hands in a task. The caller is one of these threads, about to end its own task. It takes the
   * new task next, or another thread does that is already looking for one. Avoids waking a thread,
   * because that would cost more than the rest of this method.
   */
  void executeNext(Runnable task);

  /**
   * Returns whether a task calls a listener of the user when it ends. Nothing must wait for that.
   */
  default boolean tells() {
    return false;
  }
}
