package dev.tidepool.stream;

import dev.tidepool.expression.syntax.Reduction;
import dev.tidepool.expression.syntax.ScalarType;
import dev.tidepool.expression.types.Expression;
import dev.tidepool.expression.types.Operand;
import dev.tidepool.expression.types.TypedProgram;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Gives types to the names of an evaluation, and headers to the files of its results. */
final class EvaluationTargets {
  private final NpyEvaluation.Request request;
  private final Expression expression;
  private final PipelineRun run;
  private final ReducedResults reduced;

  /**
   * Creates the targets of a run whose inputs are open.
   *
   * @param reduced receives the types of the reduced arrays
   */
  EvaluationTargets(
      NpyEvaluation.Request request,
      Expression expression,
      PipelineRun run,
      ReducedResults reduced) {
    this.request = request;
    this.expression = expression;
    this.run = run;
    this.reduced = reduced;
  }

  /**
   * Returns the files of the results, by name.
   *
   * @throws dev.tidepool.KernelCompilationException if the expression does not match its arguments
   * @throws IllegalArgumentException if a name is given but not used, a scalar does not fit, or the
   *     mask is no truth value
   */
  Map<String, NpyOutputs.Target> targets() {
    Map<String, NpyOutputs.Target> targets = new LinkedHashMap<>();
    for (TypedProgram.ArrayParameter array : resolve().arrays()) {
      Path target = request.outputs().get(array.name());
      Reduction reduction = reduction(array.name());
      if (reduction != null) {
        reduced.reducing(reduction, array.type());
      }
      if (array.name().equals(request.mask())) {
        checkMask(array.type());
      } else if (target != null) {
        NpyHeader header =
            reduction == null
                ? NpyHeader.of(
                    NpyType.valueOf(array.type().name()),
                    run.inputs().isFortranOrder(),
                    reduced.resultShape())
                : reduced.header(reduction, array.type());
        boolean selected = reduction == null && !request.mask().isEmpty();
        targets.put(
            array.name(), new NpyOutputs.Target(target, header, request.overwrite(), selected));
      }
    }
    return targets;
  }

  private @Nullable Reduction reduction(String name) {
    for (Reduction reduction : expression.reductions()) {
      if (reduction.name().equals(name)) {
        return reduction;
      }
    }
    return null;
  }

  private static void checkMask(ScalarType type) {
    if (type != ScalarType.BOOL) {
      throw new IllegalArgumentException(
          "the mask is "
              + type.numpyName()
              + ", but must be true or false for each element; compare, as in 'x != 0'");
    }
  }

  private TypedProgram resolve() {
    Map<String, Operand> operands = new LinkedHashMap<>();
    run.computation()
        .kernelScalars()
        .forEach((name, value) -> operands.put(name, Operand.scalar(value)));
    run.inputs()
        .readers()
        .forEach(
            (name, reader) ->
                operands.put(name, Operand.array(scalarType(reader.header().type()))));
    for (String name : request.outputs().keySet()) {
      NpyType type = request.type();
      operands.put(name, type == null ? Operand.output() : Operand.array(scalarType(type)));
    }
    if (!request.mask().isEmpty()) {
      operands.put(request.mask(), Operand.output());
    }
    for (Reduction reduction : expression.reductions()) {
      operands.put(reduction.name(), Operand.output());
    }
    TypedProgram program = expression.resolve(operands);
    // Scalars that do not fit are found before any file is begun.
    program.uniformValues(request.scalars());
    return program;
  }

  private static ScalarType scalarType(NpyType type) {
    return ScalarType.valueOf(type.name());
  }
}
