package dev.tidepool.testkit.workload;

import org.jspecify.annotations.Nullable;

/** Thrown if an operation and the model have different results. */
public final class WorkloadFailure extends AssertionError {
  private static final long serialVersionUID = 1L;

  private final int number;

  WorkloadFailure(Operation operation, String what, @Nullable Throwable cause) {
    super(operation + ": " + what, cause);
    number = operation.number();
  }

  /** Returns the operation's number in its list; -1 for the last read of a buffer. */
  public int number() {
    return number;
  }
}
