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

  /** Returns what failed, without the wrapping of futures. */
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
      // The lines that follow are the compiler's.
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

  /** Returns the first line of a text that shows a place or a log in those that follow. */
  static String firstLine(String text) {
    return text.lines().findFirst().orElse("failed without a message");
  }

  /** Returns a text with its control characters escaped, such as those in the name of a file. */
  static String oneLine(String text) {
    return VisibleText.of(text);
  }
}
