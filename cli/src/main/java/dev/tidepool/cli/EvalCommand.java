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
      "Compute arrays, element by element, or sums of them, on an accelerator.",
      "",
      "Files of any size are streamed in chunks. Results have NumPy's types and",
      "meaning. An output appears whole or not at all."
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
      "number takes the type of the array that it meets. A name that is assigned and is",
      "given no file is a local value.",
      "",
      "An assignment may be all of sum(a), mean(a), min(a), max(a), or histogram(a,",
      "bins, low, high), of an expression a: its value is printed. It is the same to",
      "the last bit whatever the chunks; sums of floats are pairwise, in double. With",
      "--axis its results go to a file.",
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
          "A .npy file, or a number, true or false. Names that are assigned are written to"
              + " their files, others are read.")
  private List<String> bindings = new ArrayList<>();

  @Option(
      names = "--device",
      paramLabel = "ID",
      description =
          "The accelerator, by its id in 'tidepool info', or several with commas between, which"
              + " share the work by their speed. Default: auto, the best that is more than this"
              + " machine's CPU, or else cpu:0.")
  private String device = Selection.AUTO;

  @Option(
      names = "--chunk",
      paramLabel = "BYTES",
      description =
          "The bytes of one array that are computed at once, such as 16m. Default: what suits the"
              + " accelerator and the memory limit.")
  private @Nullable String chunk;

  @Option(
      names = "--memory-limit",
      paramLabel = "BYTES",
      description = "What all chunks together may take. Default: 1GiB.")
  private String memoryLimit = EvalRequest.DEFAULT_MEMORY_LIMIT;

  @Option(
      names = "--dtype",
      paramLabel = "TYPE",
      description =
          "The type of the outputs, such as float32, of the result's kind or a wider one. Default:"
              + " what NumPy gives.")
  private @Nullable String dtype;

  @Option(
      names = "--axis",
      paramLabel = "N",
      description =
          "Reduce along this axis, the first is 0, the last -1. Results of reductions are arrays"
              + " then, without the axis, and go to files.")
  private @Nullable String axis;

  @Option(
      names = "--where",
      paramLabel = "CONDITION",
      description =
          "Take only the elements for which this is true, such as 'x > 0'. Reductions leave the"
              + " others out, as x[mask].sum() does in NumPy, or x.sum(axis, where=mask). Files get"
              + " what y[mask] is, in one dimension.")
  private @Nullable String where;

  @Option(
      names = "--deterministic",
      description =
          "The same bits whatever accelerators compute: functions that may differ in their last"
              + " bits are refused on several.")
  private boolean deterministic;

  @Option(
      names = "--resume",
      description =
          "Go on where an earlier run of the same line ended, after a crash too, and keep what is"
              + " written if this one does not come to its end. If inputs or expression have"
              + " changed, it starts again and says so.")
  private boolean resume;

  @Option(names = "--force", description = "Replace outputs that exist.")
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
