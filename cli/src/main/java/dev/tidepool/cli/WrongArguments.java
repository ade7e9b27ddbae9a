package dev.tidepool.cli;

import dev.tidepool.spi.support.FailureText;
import dev.tidepool.spi.support.FileErrors;
import java.io.IOException;

/**
 * What the command was given cannot be worked with: the arguments, or the files that they name.
 * Nothing was begun. The message is one line that says what to do.
 */
final class WrongArguments extends RuntimeException {
  private static final long serialVersionUID = 1L;

  WrongArguments(String message) {
    super(message);
  }

  WrongArguments(String message, Throwable cause) {
    super(message, cause);
  }

  /** What a library found wrong, in its words. */
  WrongArguments(RuntimeException cause) {
    super(FailureText.of(cause), cause);
  }

  /** Returns the error for a named file that cannot be read. */
  static WrongArguments unreadable(Object file, IOException cause) {
    return new WrongArguments(file + " cannot be read: " + FileErrors.reason(cause), cause);
  }
}
