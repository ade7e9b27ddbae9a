package dev.tidepool.cuda;

/**
 * Commands that are submitted to a stream one after another, of which any may be refused. For one
 * thread.
 */
final class Submission {
  private boolean begun;

  /** Submits a command; its failure says that this one is not under way. */
  void add(Runnable command) {
    command.run();
    begun = true;
  }

  /** Notes that a command may be under way. */
  void mayHaveBegun() {
    begun = true;
  }

  /** Returns whether a command may be under way. */
  boolean hasBegun() {
    return begun;
  }
}
