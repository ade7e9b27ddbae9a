package dev.tidepool.cli;

import dev.tidepool.Accelerator;
import dev.tidepool.ByteSize;
import dev.tidepool.Capability;
import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelParameter.Access;
import dev.tidepool.MemoryOptions;
import dev.tidepool.TidepoolException;
import dev.tidepool.TransferException;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.expression.syntax.ExpressionException;
import dev.tidepool.expression.syntax.ScalarType;
import dev.tidepool.expression.types.Expression;
import dev.tidepool.spi.support.FailureText;
import dev.tidepool.stream.NpyEvaluation;
import dev.tidepool.stream.NpyFormatException;
import dev.tidepool.stream.NpyType;
import dev.tidepool.stream.StreamOptions;
import dev.tidepool.testkit.CompilerProbe;
import java.io.PrintStream;
import java.nio.file.FileAlreadyExistsException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * One {@code tidepool eval}, from its texts to the line that reports the result. Values of
 * reductions are printed to the output, and the line then goes to the error stream. Everything that
 * can be checked before an accelerator is opened is checked then.
 */
final class Evaluation {
  private static final String FORCE = " (--force)";

  private static final String NO_INDEX =
      "unexpected character '['; an expression has no indices; --where 'x > 0' selects elements";

  private Evaluation() {}

  /** Evaluates a request, prints the report or the failure, and returns the exit status. */
  static int run(EvalRequest request, PrintStream out, PrintStream err) {
    try {
      compute(request, err).print(out, err);
      return ExitStatus.DONE;
    } catch (RuntimeException | Error e) {
      return Failures.report(explained(e), request.debug(), err);
    }
  }

  /**
   * The report of an evaluation.
   *
   * @param values the lines of the reductions' values
   * @param warnings problems that were worked around
   * @param line the work, its speed and its accelerators
   */
  private record Report(List<String> values, List<String> warnings, String line) {
    void print(PrintStream out, PrintStream err) {
      warnings.forEach(err::println);
      values.forEach(out::println);
      (values.isEmpty() ? out : err).println(line);
    }
  }

  private static Report compute(EvalRequest request, PrintStream err) {
    long start = System.nanoTime();
    Report report = null;
    try (Progress progress = new Progress(err);
        NpyEvaluation evaluation = open(request, progress);
        KeptWork _ = request.resume() ? KeptWork.tell(progress, err) : null;
        Selection selection =
            Selection.open(List.of(request.device().split(",", -1)), MemoryOptions.defaults())) {
      if (!evaluation.resumption().isEmpty()) {
        err.println("tidepool: " + Failures.oneLine(evaluation.resumption()));
      }
      evaluation.allowCriticalCalls();
      List<String> warnings = new ArrayList<>();
      List<Accelerator> accelerators = run(evaluation, selection, warnings);
      Map<String, Throwable> dropped = evaluation.dropped();
      accelerators = accelerators.stream().filter(each -> !dropped.containsKey(each.id())).toList();
      String line = line(evaluation, accelerators, System.nanoTime() - start);
      dropped.forEach(
          (id, failure) -> warnings.add(warning(id + " failed, others did its part", failure)));
      report = new Report(ReducedValues.lines(evaluation.values()), warnings, line);
    } catch (RuntimeException | Error e) {
      if (report == null) {
        throw e;
      }
      report
          .warnings()
          .add(warning("the results are complete, but what computed them cannot be closed", e));
    }
    return report;
  }

  private static String warning(String what, Throwable failure) {
    return "tidepool: " + what + ": " + Failures.oneLine(FailureText.of(failure));
  }

  private static Throwable explained(Throwable failure) {
    return switch (failure) {
      // For example, a memory limit that is too small; the message says what works.
      case IllegalArgumentException e -> new WrongArguments(e);
      // The file was created by another program during the computation.
      case TransferException e when e.getCause() instanceof FileAlreadyExistsException ->
          new TransferException(e.getMessage() + FORCE, e);
      default -> failure;
    };
  }

  private static NpyEvaluation open(EvalRequest request, Progress progress) {
    String text = request.expression();
    Expression expression = parse(text);
    String mask = "";
    String where = request.where();
    if (where != null) {
      mask = maskName(expression, where);
      text = text + "\n" + mask + " = " + where;
      expression = parse(text);
    }
    Integer axis = axis(request.axis());
    Bindings bindings = Bindings.of(expression, request.bindings(), axis != null, mask);
    String chunk = request.chunk();
    StreamOptions options =
        StreamOptions.defaults()
            .withMemoryLimit(bytes("--memory-limit", request.memoryLimit()))
            .withChunkBytes(chunk == null ? 0 : bytes("--chunk", chunk))
            .withProgress(progress);
    if (request.deterministic()) {
      options = options.withDeterministic();
    }
    try {
      NpyEvaluation.Request evaluation =
          new NpyEvaluation.Request(
              text,
              bindings.inputs(),
              bindings.outputs(),
              bindings.scalars(),
              type(request.dtype()),
              request.force(),
              options,
              axis,
              mask);
      return request.resume() ? NpyEvaluation.resume(evaluation) : NpyEvaluation.open(evaluation);
    } catch (TransferException e) {
      throw e.getCause() instanceof FileAlreadyExistsException
          ? new WrongArguments(e.getMessage() + FORCE, e)
          : new WrongArguments(e);
    } catch (NpyFormatException | ArithmeticException e) {
      throw new WrongArguments(e);
    } catch (ExpressionException e) {
      // The condition is the last line.
      boolean isCondition = text.chars().filter(c -> c == '\n').count() == e.line() - 1;
      throw where != null && isCondition ? conditionError(e, mask) : e;
    }
  }

  private static Expression parse(String text) {
    try {
      return Expression.parseReducing(text);
    } catch (ExpressionException e) {
      // The library advises kernels in Java.
      throw e.isAt('[') ? e.saying(NO_INDEX) : e;
    }
  }

  /** Returns a name for the mask that occurs neither in the expression nor in the condition. */
  private static String maskName(Expression expression, String where) {
    if (where.isBlank()) {
      throw new WrongArguments("--where: the condition is empty; give one, such as 'x > 0'");
    }
    if (where.indexOf(';') >= 0 || where.indexOf('\n') >= 0) {
      throw new WrongArguments("--where: give one condition, such as 'x > 0'");
    }
    for (String name = "selected"; ; name += "_") {
      String candidate = name;
      boolean free =
          condition(name, where).names().stream()
                  .allMatch(used -> used.access() == Access.OUT || !used.name().equals(candidate))
              && expression.names().stream().noneMatch(used -> used.name().equals(candidate));
      if (free) {
        return name;
      }
    }
  }

  private static Expression condition(String name, String where) {
    Expression condition;
    try {
      condition = parse(name + " = " + where);
    } catch (ExpressionException e) {
      throw conditionError(e, name);
    }
    if (!condition.reductions().isEmpty()) {
      throw new WrongArguments(
          "--where: '" + where + "' is one value of all elements; give a condition for each");
    }
    return condition;
  }

  /** Returns the error of a condition that is assigned to a name, with the place in the option. */
  private static WrongArguments conditionError(ExpressionException e, String name) {
    int column = e.column() - (name + " = ").length();
    return new WrongArguments("--where: " + e.problemAt(column), e);
  }

  private static @Nullable Integer axis(@Nullable String text) {
    if (text == null) {
      return null;
    }
    try {
      return Integer.valueOf(text);
    } catch (NumberFormatException e) {
      throw new WrongArguments(
          "--axis: '" + text + "' is no axis; give a whole number, 0 for the first", e);
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

  /** Runs the evaluation on the selected accelerators, and returns those that computed. */
  private static List<Accelerator> run(
      NpyEvaluation evaluation, Selection selection, List<String> warnings) {
    Accelerator chosen = selection.accelerator();
    List<Accelerator> all = selection.accelerators();
    UnifiedMemoryManager[] further =
        all.stream().skip(1).map(selection.tidepool()::memory).toArray(UnifiedMemoryManager[]::new);
    try {
      evaluation.run(selection.tidepool().memory(chosen), further);
      return all;
    } catch (KernelCompilationException e) {
      if (!selection.isAutomatic() || chosen.capabilities().contains(Capability.FLOAT64)) {
        throw e;
      }
      // The expression needs double precision, which this accelerator lacks; the CPU has it.
      Accelerator cpu = onTheCpu(evaluation, selection);
      warnings.add("tidepool: " + chosen.id() + " has no 64-bit floats, " + cpu.id() + " computed");
      return List.of(cpu);
    } catch (UnsupportedOperationException e) {
      if (CompilerProbe.whyNone(chosen).isEmpty()) {
        throw e;
      }
      if (!selection.isAutomatic()) {
        throw new TidepoolException(FailureText.of(e), e);
      }
      Accelerator cpu = onTheCpu(evaluation, selection);
      warnings.add(warning(chosen.id() + " has no compiler, " + cpu.id() + " computed", e));
      return List.of(cpu);
    }
  }

  private static Accelerator onTheCpu(NpyEvaluation evaluation, Selection selection) {
    Accelerator cpu = selection.tidepool().accelerators().getLast();
    evaluation.run(selection.tidepool().memory(cpu));
    return cpu;
  }

  private static String line(NpyEvaluation evaluation, List<Accelerator> accelerators, long nanos) {
    return Figures.count(evaluation.length(), "element")
        + ", "
        + Figures.bytes(evaluation.totalBytes())
        + " in "
        + Figures.time(nanos)
        + ", "
        + Figures.rate(evaluation.totalBytes(), nanos)
        + " on "
        + accelerators.stream()
            .map(accelerator -> accelerator.id() + " (" + accelerator.name() + ")")
            .collect(Collectors.joining(" and "));
  }
}
