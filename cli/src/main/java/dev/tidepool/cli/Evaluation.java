package dev.tidepool.cli;

import dev.tidepool.Accelerator;
import dev.tidepool.ByteSize;
import dev.tidepool.Capability;
import dev.tidepool.KernelCompilationException;
import dev.tidepool.MemoryOptions;
import dev.tidepool.TransferException;
import dev.tidepool.expression.Expression;
import dev.tidepool.expression.ScalarType;
import dev.tidepool.stream.NpyEvaluation;
import dev.tidepool.stream.NpyFormatException;
import dev.tidepool.stream.NpyHeader;
import dev.tidepool.stream.NpyType;
import dev.tidepool.stream.StreamOptions;
import java.io.PrintStream;
import org.jspecify.annotations.Nullable;

/**
 * One {@code tidepool eval}, from its texts to its line of result. Everything that can be checked
 * is checked before an accelerator is opened.
 */
final class Evaluation {
  private Evaluation() {}

  /** Does the work, prints one line, and answers the exit status. */
  static int run(EvalRequest request, PrintStream out, PrintStream err) {
    try {
      out.println(compute(request, err));
      return ExitStatus.DONE;
    } catch (RuntimeException | Error e) {
      return Failures.report(e, request.debug(), err);
    }
  }

  private static String compute(EvalRequest request, PrintStream err) {
    long start = System.nanoTime();
    try (Progress progress = new Progress(err);
        NpyEvaluation evaluation = open(request, progress);
        Selection selection = Selection.open(request.device(), MemoryOptions.defaults())) {
      Accelerator accelerator = run(evaluation, selection);
      return line(evaluation, accelerator, System.nanoTime() - start);
    } catch (IllegalArgumentException e) {
      // Such as a memory limit that is too small: the message says what works.
      throw new WrongArguments(e);
    }
  }

  private static NpyEvaluation open(EvalRequest request, Progress progress) {
    Expression expression = Expression.parse(request.expression());
    Bindings bindings = Bindings.of(expression, request.bindings());
    String chunk = request.chunk();
    StreamOptions options =
        StreamOptions.defaults()
            .withMemoryLimit(bytes("--memory-limit", request.memoryLimit()))
            .withChunkBytes(chunk == null ? 0 : bytes("--chunk", chunk))
            .withProgress(progress);
    try {
      return NpyEvaluation.open(
          new NpyEvaluation.Request(
              expression,
              bindings.inputs(),
              bindings.outputs(),
              bindings.scalars(),
              type(request.dtype()),
              request.force(),
              options));
    } catch (NpyFormatException | TransferException | ArithmeticException e) {
      throw new WrongArguments(e);
    }
  }

  private static long bytes(String option, String text) {
    try {
      long bytes = ByteSize.parse(text);
      if (bytes > 0) {
        return bytes;
      }
    } catch (IllegalArgumentException e) {
      throw new WrongArguments(option + ": " + e.getMessage(), e);
    }
    throw new WrongArguments(option + ": give 1 byte or more");
  }

  private static @Nullable NpyType type(@Nullable String dtype) {
    if (dtype == null) {
      return null;
    }
    try {
      return NpyType.valueOf(ScalarType.ofNumpyName(dtype).name());
    } catch (IllegalArgumentException e) {
      throw new WrongArguments("--dtype: " + e.getMessage(), e);
    }
  }

  /** Runs it on the accelerator that was chosen, and answers on which it ran. */
  private static Accelerator run(NpyEvaluation evaluation, Selection selection) {
    Accelerator chosen = selection.accelerator();
    try {
      evaluation.run(selection.tidepool().memory(chosen));
      return chosen;
    } catch (KernelCompilationException e) {
      if (!selection.isAutomatic() || chosen.capabilities().contains(Capability.FLOAT64)) {
        throw e;
      }
      // The expression needs double precision, which this accelerator lacks; the CPU has it.
      Accelerator cpu = selection.tidepool().accelerators().getLast();
      evaluation.run(selection.tidepool().memory(cpu));
      return cpu;
    }
  }

  private static String line(NpyEvaluation evaluation, Accelerator accelerator, long nanos) {
    NpyHeader result = evaluation.results().values().iterator().next();
    return Figures.count(result.elementCount(), "element")
        + ", "
        + Figures.bytes(evaluation.totalBytes())
        + " in "
        + Figures.time(nanos)
        + ", "
        + Figures.rate(evaluation.totalBytes(), nanos)
        + " on "
        + accelerator.id()
        + " ("
        + accelerator.name()
        + ")";
  }
}
