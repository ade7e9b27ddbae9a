package dev.tidepool.spark;

import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.expression.syntax.ScalarType;
import dev.tidepool.expression.syntax.Spelling;
import dev.tidepool.expression.types.Expression;
import dev.tidepool.expression.types.Operand;
import dev.tidepool.expression.types.TypedProgram;
import dev.tidepool.methods.analysis.MethodParameters;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Determines the meaning of each name of one kernel, for {@link TypedKernel#of}. */
final class KernelTyping {
  private final ColumnKernel kernel;
  private final Map<String, ColumnType> columns;
  private final List<TypedKernel.Array> arrays = new ArrayList<>();
  private final Set<String> written = new LinkedHashSet<>();
  // The names of the scalars that the kernel takes, whether their values are given or not.
  private final Set<String> scalars = new LinkedHashSet<>();
  private String namesHint = "";

  KernelTyping(ColumnKernel kernel, Map<String, ColumnType> columns) {
    this.kernel = kernel;
    this.columns = columns;
  }

  TypedKernel typed() {
    switch (kernel.compilable()) {
      case KernelSource.Elementwise(String text) -> readExpression(Expression.parse(text));
      case KernelSource.Method method -> readParameters(MethodParameters.of(method));
      default -> throw new IllegalStateException(kernel + " is no kernel over columns");
    }
    checkResults();
    checkColumns();
    checkScalars();
    return new TypedKernel(kernel, arrays);
  }

  private void readExpression(Expression expression) {
    Map<String, Operand> operands = new LinkedHashMap<>();
    for (Expression.Name each : expression.names()) {
      String name = each.name();
      if (each.access().writes()) {
        written.add(name);
      }
      if (!each.access().reads()) {
        if (isWanted(name)) {
          operands.put(name, Operand.output());
        }
      } else if (columns.containsKey(name)) {
        operands.put(name, Operand.array(ScalarType.of(column(name).elementType())));
      } else if (kernel.scalars().containsKey(name)) {
        operands.put(name, Operand.scalar(kernel.scalar(name)));
        scalars.add(name);
      } else {
        throw meaningless(name);
      }
    }
    // Checked first, because there would be nothing to resolve without a result.
    checkResults();
    expression.resolve(operands).arrays().forEach(this::addArray);
  }

  private void addArray(TypedProgram.ArrayParameter array) {
    String name = array.name();
    ColumnType type =
        ColumnType.of(array.type().elementType())
            .orElseThrow(
                () ->
                    wrong(
                        "computes '"
                            + name
                            + "' as "
                            + array.type().numpyName()
                            + ", which Spark has no column for"));
    boolean isResult = written.contains(name) && isWanted(name);
    arrays.add(new TypedKernel.Array(name, type, columns.containsKey(name), isResult, false));
  }

  private void readParameters(List<KernelParameter> parameters) {
    namesHint = MethodParameters.namesHint(parameters).map(hint -> ": " + hint).orElse("");
    parameters.forEach(this::readParameter);
  }

  private void readParameter(KernelParameter parameter) {
    String name = parameter.name();
    boolean isWritten = parameter.access().writes();
    if (!parameter.access().isArray()) {
      scalars.add(name);
      if (!kernel.scalars().containsKey(name)) {
        throw wrong("takes the scalar '" + name + "'; give it by with(\"" + name + "\", value)");
      }
      return;
    }
    if (isWritten) {
      written.add(name);
    }
    boolean isInput = columns.containsKey(name);
    if (!isInput && !isWritten) {
      throw meaningless(name);
    }
    ColumnType type = ColumnType.of(parameter.type()).orElseThrow();
    if (isInput && column(name) != type) {
      throw wrong(
          "takes '"
              + name
              + "' as "
              + type.sparkType().sql()
              + ", but the column is "
              + column(name).sparkType().sql()
              + "; cast the column before");
    }
    boolean isPartlyWritten = parameter.access() != KernelParameter.Access.OUT;
    arrays.add(
        new TypedKernel.Array(
            name, type, isInput, isWritten && isWanted(name), !isInput && isPartlyWritten));
  }

  private ColumnType column(String name) {
    ColumnType type = columns.get(name);
    if (type == null) {
      throw meaningless(name);
    }
    return type;
  }

  private boolean isWanted(String name) {
    return kernel.results().isEmpty() || kernel.results().contains(name);
  }

  private void checkResults() {
    if (written.isEmpty()) {
      throw wrong("writes no array, so there is no result");
    }
    for (String result : kernel.results()) {
      if (!written.contains(result)) {
        throw wrong(
            "does not write the result '" + result + "'" + Spelling.suggestion(result, written));
      }
    }
  }

  private void checkColumns() {
    for (String column : columns.keySet()) {
      if (arrays.stream().noneMatch(each -> each.isInput() && each.name().equals(column))) {
        throw wrong("does not read the column '" + column + "'; leave it out");
      }
    }
  }

  /** Rejects unused scalars, because they are probably misspelt. */
  private void checkScalars() {
    for (String scalar : kernel.scalars().keySet()) {
      if (columns.containsKey(scalar)) {
        throw wrong("has the column '" + scalar + "' and a scalar of that name; leave one out");
      }
      if (!scalars.contains(scalar)) {
        throw wrong("takes no scalar '" + scalar + "'" + Spelling.suggestion(scalar, scalars));
      }
    }
  }

  private IllegalArgumentException meaningless(String name) {
    Set<String> known = new LinkedHashSet<>(columns.keySet());
    known.addAll(kernel.scalars().keySet());
    return wrong(
        "reads '"
            + name
            + "', which is neither a scalar nor one of the columns "
            + columns.keySet()
            + Spelling.suggestion(name, known));
  }

  private IllegalArgumentException wrong(String problem) {
    return new IllegalArgumentException("the kernel " + kernel + " " + problem + namesHint);
  }
}
