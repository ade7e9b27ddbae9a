package dev.tidepool.cli;

import dev.tidepool.KernelCompilationException;
import dev.tidepool.TidepoolException;
import dev.tidepool.expression.syntax.ExpressionException;
import dev.tidepool.spi.support.FailureText;
import dev.tidepool.spi.support.FileErrors;
import dev.tidepool.spi.support.VisibleText;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.file.FileSystemException;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;

/**
 * Reports every failure: one line on the error stream, and the exit status. An error in an
 * expression has two more lines, which show the position.
 */
final class Failures {
  private Failures() {}

  /** Prints a failure and returns the exit status. */
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

  /** Returns the failure without the exceptions of futures that wrap it. */
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
    return switch (cause) {
      case ExpressionException shown -> String.valueOf(shown.getMessage());
      // The other lines are the compiler's.
      case KernelCompilationException _ -> oneLine(firstLine(FailureText.of(cause)));
      case TidepoolException _, WrongArguments _ -> oneLine(FailureText.of(cause));
      case FileSystemException e when e.getFile() != null && e.getOtherFile() == null ->
          oneLine(e.getFile() + ": " + FileErrors.reason(e));
      case IOException e -> oneLine(FileErrors.reason(e));
      case OutOfMemoryError _ ->
          oneLine("out of memory (" + FailureText.of(cause) + "); give a smaller --memory-limit");
      default -> oneLine("internal error: " + cause + "; --debug shows where, please report it");
    };
  }

  /** Returns the first line of a text; the others show a position or a log. */
  static String firstLine(String text) {
    return text.lines().findFirst().orElse("failed without a message");
  }

  /** Returns a text with its control characters escaped, such as those in the name of a file. */
  static String oneLine(String text) {
    return VisibleText.of(text);
  }
}
