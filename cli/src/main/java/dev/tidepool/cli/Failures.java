package dev.tidepool.cli;

import dev.tidepool.TidepoolException;
import dev.tidepool.expression.syntax.ExpressionException;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.file.AccessDeniedException;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;

/**
 * Where every failure ends: one line on the error stream, and the exit status. An error in an
 * expression has two lines more, which show the place.
 */
final class Failures {
  private Failures() {}

  /** Prints what went wrong and answers the exit status. */
  static int report(Throwable failure, boolean debug, PrintStream err) {
    Throwable cause = unwrapped(failure);
    err.println("tidepool: " + text(cause));
    if (debug) {
      failure.printStackTrace(err);
    }
    return isWrongArgument(cause) ? ExitStatus.WRONG_ARGUMENTS : ExitStatus.FAILED;
  }

  private static boolean isWrongArgument(Throwable cause) {
    return cause instanceof WrongArguments || cause instanceof ExpressionException;
  }

  /** What failed, without the wrapping of futures. */
  private static Throwable unwrapped(Throwable failure) {
    Throwable cause = failure;
    while (cause.getCause() != null
        && (cause instanceof CompletionException
            || cause instanceof ExecutionException
            || cause instanceof UncheckedIOException)) {
      cause = cause.getCause();
    }
    return cause;
  }

  private static String text(Throwable cause) {
    String message = cause.getMessage() == null ? cause.toString() : cause.getMessage();
    return switch (cause) {
      case ExpressionException _ -> message;
      case WrongArguments _ -> firstLine(message);
      case TidepoolException _ -> firstLine(message);
      case AccessDeniedException _ -> firstLine(message + ": permission denied");
      case IOException _ -> firstLine(message);
      case OutOfMemoryError _ ->
          firstLine("out of memory (" + message + "); give a smaller --memory-limit");
      default -> firstLine("internal error: " + cause + "; --debug shows where, please report it");
    };
  }

  private static String firstLine(String message) {
    return message.lines().findFirst().orElse("failed without a message");
  }
}
