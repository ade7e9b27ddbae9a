package dev.tidepool.stream;

import dev.tidepool.TidepoolException;
import org.jspecify.annotations.Nullable;

/**
 * A file is not a {@code .npy} file, or holds what this library does not read. The message names
 * the file, what it holds and what is supported.
 */
public class NpyFormatException extends TidepoolException {
  private static final long serialVersionUID = 1L;

  /** Returns what is wrong with the file. */
  public NpyFormatException(String message) {
    super(message);
  }

  /** Returns what is wrong with the file, told together with its name. */
  public NpyFormatException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
