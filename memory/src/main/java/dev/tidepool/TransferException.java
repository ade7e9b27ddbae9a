package dev.tidepool;

import org.jspecify.annotations.Nullable;

/** A copy between the host, an accelerator or a file failed. */
public class TransferException extends TidepoolException {
  private static final long serialVersionUID = 1L;

  /** Creates a failure that says which bytes were on which way. */
  public TransferException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
