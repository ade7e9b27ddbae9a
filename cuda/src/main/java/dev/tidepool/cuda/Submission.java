package dev.tidepool.cuda;

/**
 * Commands that are submitted to a stream one after another; any of them may be refused. Used by
 * one thread.
 */
final class Submission {
  private boolean begun;

  /** Submits a command; if this throws, the command has not started. */
  void add(Runnable command) {
    command.run();
    begun = true;
  }

  /** Records that a command may have started. */
  void mayHaveBegun() {
    begun = true;
  }

  /** Returns whether a command may have started. */
  boolean hasBegun() {
    return begun;
  }
}
