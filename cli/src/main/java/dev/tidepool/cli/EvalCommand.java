package dev.tidepool.cli;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/**
 * The options of {@code tidepool eval}, for help and for malformed command lines. {@link
 * EvalRequest#read} reads well-formed ones and must accept the same options.
 */
@Command(
    name = "eval",
    customSynopsis = "tidepool eval [OPTION...] EXPRESSION NAME=VALUE...",
    description = {
      "Compute arrays element by element, or reduce them, on an accelerator.",
      "",
      "Files of any size are streamed in chunks. Results have NumPy's types and",
      "meaning. An output file appears complete or not at all."
    },
    descriptionHeading = "%n",
    parameterListHeading = "%nArguments:%n",
    optionListHeading = "%nOptions:%n",
    sortOptions = false,
    footer = {
      "",
      "An expression is one assignment or several, separated by ';' or line ends. It is",
      "made of numbers, names, ( ), + - * / // %% **, < <= > >= == !=, ! && ||,",
      "& | ^ ~ << >> of integers, condition ? a : b, and the functions abs min max",
      "floor ceil rint sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin",
      "acos atan atan2 sinh cosh tanh pow hypot fma where. All mean what they mean in",
      "NumPy: / is true division, // rounds down, %% takes the divisor's sign, and a",
      "number takes the type of the array that it meets. Comparisons and ! && || give",
      "arrays of bool. A name that is assigned and is given no file is a local value.",
      "",
      "s = sum(a) reduces all elements of an expression a to one value, which is",
      "printed and needs no file; so do mean(a), min(a) and max(a). histogram(a, bins,",
      "low, high) prints a count for each bin. A reduction is the whole right side of",
      "an assignment. Its value has the same bits whatever the chunks; sums of floats",
      "are pairwise, in double. With --axis its result is an array, which needs a file.",
      "",
      "Files are .npy: bool, int8 to int64, uint8 to uint64, float32 and float64, in",
      "either byte order, in C or Fortran order, of any shape; all have the same shape.",
      "Inputs may be compressed by lz4.",
      "",
      "Examples:",
      "  tidepool eval 'z = sqrt(x*x + y*y)' x=a.npy y=b.npy z=out.npy",
      "  tidepool eval 'y = a*x + b' a=2.5 b=1 x=in.npy y=out.npy --device opencl:0",
      "  tidepool eval 'd = x - y; s = d*d; far = s > t' t=0.1 x=a.npy y=b.npy \\",
      "      s=square.npy far=mask.npy --memory-limit 256m --force",
      "  tidepool eval 'rms2 = mean(x*x)' x=a.npy --device cpu:0,cuda:0",
      "  tidepool eval 'm = mean(x)' x=table.npy m=means.npy --axis 0 --where 'x >= 0'"
    })
final class EvalCommand implements Callable<Integer> {
  private final TidepoolCommand parent;

  @Parameters(
      index = "0",
      paramLabel = "EXPRESSION",
      description = "What to compute, such as 'z = sqrt(x*x + y*y)'.")
  private String expression = "";

  @Parameters(
      index = "1..*",
      arity = "0..*",
      paramLabel = "NAME=VALUE",
      description =
          "Binds a name to a .npy file, a number, true or false. The files of assigned names are"
              + " written, other files are read.")
  private List<String> bindings = new ArrayList<>();

  @Option(
      names = "--device",
      paramLabel = "ID",
      description =
          "The accelerator, by its id in 'tidepool info', or several ids separated by commas; they"
              + " share the work according to their speed. Default: auto, the best that is more"
              + " than this machine's CPU, or else cpu:0.")
  private String device = Selection.AUTO;

  @Option(
      names = "--chunk",
      paramLabel = "BYTES",
      description =
          "The bytes of one array that are computed at once, such as 16m. Default: a size that"
              + " suits the accelerator and the memory limit.")
  private @Nullable String chunk;

  @Option(
      names = "--memory-limit",
      paramLabel = "BYTES",
      description = "The most memory of all chunks together. Default: 1GiB.")
  private String memoryLimit = EvalRequest.DEFAULT_MEMORY_LIMIT;

  @Option(
      names = "--dtype",
      paramLabel = "TYPE",
      description =
          "The type of the output files, such as float32. It must keep the kind of the result:"
              + " a float result needs a float type. Default: NumPy's type.")
  private @Nullable String dtype;

  @Option(
      names = "--axis",
      paramLabel = "N",
      description =
          "Reduce along this axis: 0 is the first, -1 the last. The results of reductions are then"
              + " arrays without this axis, and are written to files.")
  private @Nullable String axis;

  @Option(
      names = "--where",
      paramLabel = "CONDITION",
      description =
          "Select the elements for which this is true, such as 'x > 0'. Reductions ignore the"
              + " others. Output files contain the selected elements in one dimension, as y[mask]"
              + " does in NumPy.")
  private @Nullable String where;

  @Option(
      names = "--deterministic",
      description =
          "Make the results the same on any accelerators: with several, refuse functions whose"
              + " last bits may differ.")
  private boolean deterministic;

  @Option(
      names = "--resume",
      description =
          "Continue an earlier run of the same command line, even after a crash, and keep what is"
              + " written if this run is interrupted too. If the inputs or the expression have"
              + " changed, start again and say so.")
  private boolean resume;

  @Option(names = "--force", description = "Replace existing outputs.")
  private boolean force;

  EvalCommand(TidepoolCommand parent) {
    this.parent = parent;
  }

  @Override
  public Integer call() {
    return Evaluation.run(request(), parent.out(), parent.err());
  }

  /** Returns the options as an unchecked request. */
  EvalRequest request() {
    return new EvalRequest(
        expression,
        bindings,
        device,
        chunk,
        memoryLimit,
        dtype,
        axis,
        where,
        deterministic,
        resume,
        force,
        parent.debug());
  }
}
