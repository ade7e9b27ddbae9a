package dev.tidepool.link;

/** Threads that help the calling one to fill or empty the staging blocks of a long transfer. */
public interface StagingThreads {
  /** No threads: every transfer is moved by its caller alone. */
  StagingThreads NONE =
      new StagingThreads() {
        @Override
        public int most() {
          return 0;
        }

        @Override
        public boolean tryStart(Runnable task) {
          return false;
        }
      };

  /** Returns the number of threads that there are at most. */
  int most();

  /**
   * Runs a task on a thread that is free. A task is never queued.
   *
   * @return whether a thread was free
   */
  boolean tryStart(Runnable task);
}
