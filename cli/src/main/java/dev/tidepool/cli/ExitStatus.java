package dev.tidepool.cli;

/** The exit statuses of the command. An interrupt ends it with 130, a termination with 143. */
final class ExitStatus {
  /** Everything succeeded. */
  static final int DONE = 0;

  /** The work began and failed. */
  static final int FAILED = 1;

  /** The arguments, or the files that they name, are not usable; no work was begun. */
  static final int WRONG_ARGUMENTS = 2;

  private ExitStatus() {}
}
