package dev.tidepool;

import org.jspecify.annotations.Nullable;

/** The superclass of the exceptions for memory, transfers and kernels. */
public class TidepoolException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** Creates an error that says what happened, with numbers, and what to do next. */
  public TidepoolException(String message) {
    super(message);
  }

  /** Creates an error with what caused it. */
  public TidepoolException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
