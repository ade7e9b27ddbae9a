package dev.tidepool.cli;

import dev.tidepool.spi.support.FailureText;
import dev.tidepool.spi.support.FileErrors;
import java.io.IOException;

/**
 * Thrown if the arguments of the command, or the files that they name, are not usable. No work was
 * begun. The message is one line that says what to do.
 */
final class WrongArguments extends RuntimeException {
  private static final long serialVersionUID = 1L;

  WrongArguments(String message) {
    super(message);
  }

  WrongArguments(String message, Throwable cause) {
    super(message, cause);
  }

  /** Creates the error from a library's exception, with the same message. */
  WrongArguments(RuntimeException cause) {
    super(FailureText.of(cause), cause);
  }

  /** Returns the error for a named file that cannot be read. */
  static WrongArguments unreadable(Object file, IOException cause) {
    return new WrongArguments(file + " cannot be read: " + FileErrors.reason(cause), cause);
  }
}
