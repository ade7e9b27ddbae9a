package dev.tidepool.testkit.workload;

import org.jspecify.annotations.Nullable;

/** An operation that did not do what the model did. */
public final class WorkloadFailure extends AssertionError {
  private static final long serialVersionUID = 1L;

  private final int number;

  WorkloadFailure(Operation operation, String what, @Nullable Throwable cause) {
    super(operation + ": " + what, cause);
    number = operation.number();
  }

  /** Returns the operation's number in its list; -1 for the last look at a buffer. */
  public int number() {
    return number;
  }
}
