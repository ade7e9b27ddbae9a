package dev.tidepool;

import org.jspecify.annotations.Nullable;

/** The superclass of the exceptions for memory, transfers and kernels. */
public class TidepoolException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** Creates an exception. The message says what happened, with numbers, and what to do. */
  public TidepoolException(String message) {
    super(message);
  }

  /** Creates an exception with a cause. */
  public TidepoolException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
