package dev.tidepool.stream;

import dev.tidepool.TidepoolException;
import org.jspecify.annotations.Nullable;

/**
 * Thrown if a file is not a {@code .npy} file, or if its contents are not supported. The message
 * names the file, its contents, and what is supported.
 */
public class NpyFormatException extends TidepoolException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates an exception.
   *
   * @param message says what is wrong with the file
   */
  public NpyFormatException(String message) {
    super(message);
  }

  /**
   * Creates an exception with a cause.
   *
   * @param message names the file, and says what is wrong with it
   */
  public NpyFormatException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
