package dev.tidepool;

import org.jspecify.annotations.Nullable;

/** A copy between the host, an accelerator or a file failed. */
public class TransferException extends TidepoolException {
  private static final long serialVersionUID = 1L;

  /** Creates the exception; the message says which bytes were to go where. */
  public TransferException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
