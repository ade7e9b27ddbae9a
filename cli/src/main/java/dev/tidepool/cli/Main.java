package dev.tidepool.cli;

import java.io.PrintStream;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * The entry point of the {@code tidepool} command.
 *
 * <p>A well-formed {@code eval} is executed at once. Any other command line is read by picocli,
 * which takes 150 ms to load.
 */
public final class Main {
  private static final String LOG_FORMAT = "java.util.logging.SimpleFormatter.format";

  private Main() {}

  /** Runs the command and ends the virtual machine with its exit status. */
  public static void main(String[] arguments) {
    // Each log record of the library is one line, like the command's own messages.
    if (System.getProperty(LOG_FORMAT) == null) {
      System.setProperty(LOG_FORMAT, "tidepool: %5$s%6$s%n");
    }
    int status = run(System.out, System.err, arguments);
    // A reader such as head may close the pipe early; this is not a failure.
    if (System.out.checkError() && !Terminal.outputIsPipe()) {
      System.err.println("tidepool: the output took not all of the result; is its disk full?");
      status = Math.max(status, ExitStatus.FAILED);
    }
    System.err.flush();
    System.exit(status);
  }

  /** Runs the command and returns its exit status: 0, 1 for failed work, 2 for wrong arguments. */
  static int run(PrintStream out, PrintStream err, String... arguments) {
    if (arguments.length > 0 && arguments[0].equals("eval")) {
      List<String> rest = Arrays.asList(arguments).subList(1, arguments.length);
      Optional<EvalRequest> request = EvalRequest.read(rest);
      if (request.isPresent()) {
        return Evaluation.run(request.get(), out, err);
      }
    }
    return TidepoolCommand.run(out, err, arguments);
  }
}
