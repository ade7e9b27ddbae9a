package dev.tidepool.cli;

import org.jspecify.annotations.Nullable;

/**
 * What the command was given cannot be worked with: the arguments, or the files that they name.
 * Nothing was begun. The message is one line that says what to do.
 */
final class WrongArguments extends RuntimeException {
  private static final long serialVersionUID = 1L;

  WrongArguments(String message) {
    super(message);
  }

  WrongArguments(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
