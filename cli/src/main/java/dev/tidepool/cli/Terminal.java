package dev.tidepool.cli;

import dev.tidepool.host.system.LibC;
import java.io.BufferedReader;
import java.io.Console;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Tells whether a person watches a stream. Each method makes a system call; call it only if needed.
 */
final class Terminal {
  private static final int STANDARD_OUTPUT = 1;
  private static final int STANDARD_ERROR = 2;

  private Terminal() {}

  /** Returns whether standard output is a terminal. */
  static boolean showsOutput() {
    return isTerminal(STANDARD_OUTPUT);
  }

  /** Returns whether standard error is a terminal. */
  static boolean showsErrors() {
    return isTerminal(STANDARD_ERROR);
  }

  /** Returns whether standard output may use bold and colours; see no-color.org. */
  static boolean likesColour() {
    String term = System.getenv("TERM");
    return System.getenv("NO_COLOR") == null
        && term != null
        && !term.equals("dumb")
        && showsOutput();
  }

  /** Returns whether standard output is connected to another program. */
  static boolean outputIsPipe() {
    try {
      String target = target(STANDARD_OUTPUT);
      return target.startsWith("pipe:") || target.startsWith("socket:");
    } catch (IOException | UnsupportedOperationException _) {
      return !showsOutput();
    }
  }

  /** Returns the columns of the terminal that shows errors, or 0 if they are unknown. */
  static int columns() {
    String told = System.getenv("COLUMNS");
    try {
      return told == null ? askedColumns() : Integer.parseInt(told);
    } catch (NumberFormatException _) {
      return 0;
    }
  }

  /** Returns the columns that {@code stty} reports, because it works on every system. */
  private static int askedColumns() {
    try {
      Process stty =
          new ProcessBuilder("stty", "size")
              .redirectInput(new File("/dev/tty"))
              .redirectError(ProcessBuilder.Redirect.DISCARD)
              .start();
      try (BufferedReader rowsAndColumns = stty.inputReader()) {
        String line = rowsAndColumns.readLine();
        return line == null ? 0 : Integer.parseInt(line.substring(line.indexOf(' ') + 1));
      }
    } catch (IOException _) {
      return 0;
    }
  }

  private static String target(int descriptor) throws IOException {
    return Files.readSymbolicLink(Path.of("/proc/self/fd/" + descriptor)).toString();
  }

  private static boolean isTerminal(int descriptor) {
    try {
      String target = target(descriptor);
      return target.startsWith("/dev/pts/")
          || target.startsWith("/dev/tty")
          || target.equals("/dev/console");
    } catch (IOException | UnsupportedOperationException _) {
      // Systems other than Linux have no /proc.
      return LibC.isTerminal(descriptor) || consoleIsTerminal();
    }
  }

  /** Returns whether both standard streams are a terminal; Java alone knows no more. */
  // Error Prone knows that the console is never null, NullAway does not.
  @SuppressWarnings("SystemConsoleNull")
  private static boolean consoleIsTerminal() {
    Console console = System.console();
    return console != null && console.isTerminal();
  }
}
