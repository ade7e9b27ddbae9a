package dev.tidepool.link;

/** Threads that help the calling one to fill or empty the staging blocks of a long transfer. */
public interface StagingThreads {
  /** Returns the number of threads that there are at most. */
  int most();

  /**
   * Runs a task on a thread that is free. A task is never queued.
   *
   * @return whether a thread was free
   */
  boolean tryStart(Runnable task);
}
