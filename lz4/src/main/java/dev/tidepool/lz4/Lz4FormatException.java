package dev.tidepool.lz4;

import dev.tidepool.TransferException;
import org.jspecify.annotations.Nullable;

/** Thrown if data is not LZ4, is truncated or damaged, or uses an unsupported feature. */
public class Lz4FormatException extends TransferException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates an exception.
   *
   * @param message says what is wrong, and where
   */
  public Lz4FormatException(String message) {
    super(message, null);
  }

  /**
   * Creates an exception with a cause.
   *
   * @param message says what is wrong, and names the file
   */
  public Lz4FormatException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
