package dev.tidepool.cli;

import java.io.Console;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Whether a person looks at a stream. Asked only when it matters: the answer takes a system call.
 */
final class Terminal {
  private static final int STANDARD_OUTPUT = 1;
  private static final int STANDARD_ERROR = 2;

  private Terminal() {}

  /** Whether results are read as they come. */
  static boolean showsOutput() {
    return isTerminal(STANDARD_OUTPUT);
  }

  /** Whether progress is read as it comes. */
  static boolean showsErrors() {
    return isTerminal(STANDARD_ERROR);
  }

  /** Whether bold and colours are welcome on standard output; see no-color.org. */
  static boolean likesColour() {
    String term = System.getenv("TERM");
    return System.getenv("NO_COLOR") == null
        && term != null
        && !term.equals("dumb")
        && showsOutput();
  }

  // Error Prone knows that the console is never null, NullAway does not.
  @SuppressWarnings("SystemConsoleNull")
  private static boolean isTerminal(int descriptor) {
    Path link = Path.of("/proc/self/fd/" + descriptor);
    try {
      String target = Files.readSymbolicLink(link).toString();
      return target.startsWith("/dev/pts/")
          || target.startsWith("/dev/tty")
          || target.equals("/dev/console");
    } catch (IOException | UnsupportedOperationException _) {
      // No /proc: the console stands for both streams.
      Console console = System.console();
      return console != null && console.isTerminal();
    }
  }
}
