package dev.tidepool.link;

/** Threads that help a calling thread to fill or empty the staging blocks of a long transfer. */
public interface StagingThreads {
  /** Returns the maximum number of threads. */
  int most();

  /**
   * Runs a task on a free thread, if there is one. Never queues the task.
   *
   * @return whether a thread was free
   */
  boolean tryStart(Runnable task);
}
