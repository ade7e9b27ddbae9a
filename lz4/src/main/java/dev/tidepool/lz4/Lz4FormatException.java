package dev.tidepool.lz4;

import dev.tidepool.TransferException;
import org.jspecify.annotations.Nullable;

/** Bytes are no LZ4 data, are cut, are damaged, or use what is not supported. */
public class Lz4FormatException extends TransferException {
  private static final long serialVersionUID = 1L;

  /** Returns what is wrong, and where. */
  public Lz4FormatException(String message) {
    super(message, null);
  }

  /** Returns what is wrong, told together with the name of the file. */
  public Lz4FormatException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
