package dev.tidepool.cli;

import java.io.PrintStream;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * Where the {@code tidepool} command begins.
 *
 * <p>A well-formed {@code eval} goes straight to its work; all else is read by picocli, which takes
 * 150 ms to load.
 */
public final class Main {
  private static final String LOG_FORMAT = "java.util.logging.SimpleFormatter.format";

  private Main() {}

  /** Runs the command and ends the virtual machine with its exit status. */
  public static void main(String[] arguments) {
    // What the library logs is one line, as the command's own messages are.
    if (System.getProperty(LOG_FORMAT) == null) {
      System.setProperty(LOG_FORMAT, "tidepool: %5$s%6$s%n");
    }
    int status = run(System.out, System.err, arguments);
    // A reader that has seen enough and went, such as head, is no failure.
    if (System.out.checkError() && !Terminal.outputIsPipe()) {
      System.err.println("tidepool: the output took not all of the result; is its disk full?");
      status = Math.max(status, ExitStatus.FAILED);
    }
    System.err.flush();
    System.exit(status);
  }

  /** Runs the command and answers its exit status: 0, 1 for failed work, 2 for wrong arguments. */
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
