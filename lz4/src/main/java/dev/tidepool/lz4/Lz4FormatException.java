package dev.tidepool.lz4;

import dev.tidepool.TransferException;
import org.jspecify.annotations.Nullable;

/** Thrown if bytes are no LZ4 data, are cut, are damaged, or use unsupported features. */
public class Lz4FormatException extends TransferException {
  private static final long serialVersionUID = 1L;

  /** Creates an exception that says what is wrong, and where. */
  public Lz4FormatException(String message) {
    super(message, null);
  }

  /** Creates an exception that says what is wrong, with a cause. */
  public Lz4FormatException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
