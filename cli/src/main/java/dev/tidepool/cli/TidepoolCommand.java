package dev.tidepool.cli;

import dev.tidepool.MemoryOptions;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.util.function.Function;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ScopeType;
import picocli.CommandLine.Spec;
import picocli.CommandLine.TypeConversionException;
import picocli.CommandLine.UnmatchedArgumentException;

/** The command without a subcommand. It also configures picocli for all subcommands. */
@Command(
    name = "tidepool",
    description = "Computes with arrays on the accelerators of this machine.",
    synopsisSubcommandLabel = "COMMAND",
    descriptionHeading = "%n",
    commandListHeading = "%nCommands:%n",
    optionListHeading = "%nOptions:%n",
    footer = {
      "",
      "tidepool COMMAND --help shows the options of a command.",
      "",
      "Exit status: 0 if the work was done; 1 if it failed; 2 if the arguments, or the",
      "files that they name, cannot be used; 130 after an interrupt, 143 after a",
      "termination.",
      "",
      "Examples:",
      "  tidepool info",
      "  tidepool eval 'z = sqrt(x*x + y*y)' x=a.npy y=b.npy z=out.npy",
      "  tidepool demo",
      "  tidepool selftest --device opencl:0",
      "  tidepool bench --replay app.trace",
      "  tidepool view snapshot.json"
    },
    versionProvider = Version.class)
final class TidepoolCommand implements Runnable {
  private final PrintStream out;
  private final PrintStream err;

  @Spec private CommandSpec spec = CommandSpec.create();

  // The parser acts on the two options; no code reads whether they are set.
  @SuppressWarnings("UnusedVariable")
  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      scope = ScopeType.INHERIT,
      description = "Show this help and exit.")
  private boolean help;

  @SuppressWarnings("UnusedVariable")
  @Option(
      names = {"-V", "--version"},
      versionHelp = true,
      description = "Show the version and exit.")
  private boolean version;

  @Option(
      names = "--debug",
      scope = ScopeType.INHERIT,
      description = "Show a stack trace of a failure.")
  private boolean debug;

  TidepoolCommand(PrintStream out, PrintStream err) {
    this.out = out;
    this.err = err;
  }

  /** Executes a command line and returns the exit status. */
  static int run(PrintStream out, PrintStream err, String... arguments) {
    TidepoolCommand command = new TidepoolCommand(out, err);
    return command.commandLine().execute(arguments);
  }

  /** Returns the parser of all commands, which sets their options. */
  CommandLine commandLine() {
    return new CommandLine(this)
        .addSubcommand(new InfoCommand(this))
        .addSubcommand(new EvalCommand(this))
        .addSubcommand(new DemoCommand(this))
        .addSubcommand(new SelftestCommand(this))
        .addSubcommand(new BenchCommand(this))
        .addSubcommand(new ViewCommand(this))
        .setOut(new PrintWriter(out, true, out.charset()))
        .setErr(new PrintWriter(err, true, err.charset()))
        .setExpandAtFiles(false)
        .registerConverter(int.class, text -> wholeNumber(text, Integer::valueOf))
        .registerConverter(Integer.class, text -> wholeNumber(text, Integer::valueOf))
        .registerConverter(Long.class, text -> wholeNumber(text, Long::valueOf))
        .setParameterExceptionHandler((e, _) -> wrongArguments(e))
        .setExecutionExceptionHandler((e, _, _) -> Failures.report(settled(e), debug, err));
  }

  private static <N> N wholeNumber(String text, Function<String, N> conversion) {
    try {
      return conversion.apply(text);
    } catch (NumberFormatException e) {
      throw new TypeConversionException("'" + text + "' is no whole number, or too large a one");
    }
  }

  /** Returns the error of an invalid property or variable, if any, in place of a command's. */
  private static Exception settled(Exception failure) {
    if (failure instanceof IllegalArgumentException) {
      try {
        MemoryOptions.defaults();
      } catch (IllegalArgumentException setting) {
        return new WrongArguments(setting);
      }
    }
    return failure;
  }

  private int wrongArguments(ParameterException e) {
    CommandSpec command = e.getCommandLine().getCommandSpec();
    String problem = String.valueOf(e.getMessage());
    if (e instanceof UnmatchedArgumentException unmatched && !unmatched.isUnknownOption()) {
      String argument = unmatched.getUnmatched().getFirst();
      String commands = String.join(", ", command.subcommands().keySet());
      problem =
          command.parent() == null
              ? "no command '" + argument + "'; there are " + commands
              : "'" + argument + "' is one argument too many";
    }
    String message = problem + "; see " + command.qualifiedName() + " --help";
    return Failures.report(new WrongArguments(message, e), debug, err);
  }

  /** Prints the usage, because a subcommand is required. */
  @Override
  public void run() {
    spec.commandLine().usage(err);
    throw new WrongArguments("a command is missing");
  }

  /** Returns the stream of results. */
  PrintStream out() {
    return out;
  }

  /** Returns the stream of errors and progress. */
  PrintStream err() {
    return err;
  }

  /** Returns whether failures are printed with stack traces. */
  boolean debug() {
    return debug;
  }
}
