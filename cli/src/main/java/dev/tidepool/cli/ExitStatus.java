package dev.tidepool.cli;

/** What the command tells the shell. An interrupt ends it with 130, a termination with 143. */
final class ExitStatus {
  /** All went well. */
  static final int DONE = 0;

  /** The work began and failed. */
  static final int FAILED = 1;

  /** The arguments, or the files that they name, cannot be worked with; nothing was begun. */
  static final int WRONG_ARGUMENTS = 2;

  private ExitStatus() {}
}
