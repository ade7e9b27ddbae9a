package dev.tidepool;

import org.jspecify.annotations.Nullable;

/** A copy between the host, an accelerator or a file failed. */
public class TransferException extends TidepoolException {
  private static final long serialVersionUID = 1L;

  /** Creates an exception. The message says which bytes were to be copied, and where. */
  public TransferException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
