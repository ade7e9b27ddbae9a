package dev.tidepool.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.ElementType;
import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelParameter;
import dev.tidepool.expression.types.Expression;
import dev.tidepool.expression.types.TypedProgram;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * Expressions over arrays {@code x} and {@code y} of one type and a scalar {@code a}, as one source
 * that assigns each to an array of doubles: {@code z0}, {@code z1} and so on.
 *
 * @param type of the arrays
 * @param expressions what is assigned
 */
record Elementwise(ElementType<?> type, List<String> expressions) {
  private static final List<String> EXPRESSIONS =
      Stream.of(
              Stream.of("-x", "~x", "!x", "abs(x)", "floor(x)", "ceil(x)", "rint(x)", "sqrt(x)"),
              Stream.of("cbrt(x)", "exp(x)", "exp2(x)", "expm1(x)", "log(x)", "log2(x)"),
              Stream.of("log10(x)", "log1p(x)", "sin(x)", "cos(x)", "tan(x)", "asin(x)"),
              Stream.of("acos(x)", "atan(x)", "sinh(x)", "cosh(x)", "tanh(x)", "atan2(x, y)"),
              Stream.of("pow(x, y)", "hypot(x, y)", "min(x, y)", "max(x, y)", "fma(x, y, x)"),
              Stream.of("+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^")
                  .map(operator -> "x " + operator + " y"),
              Stream.of("<", "<=", ">", ">=", "==", "!=", "&&", "||")
                  .map(operator -> "x " + operator + " y"),
              Stream.of("x < y ? x : y", "x * 0.1", "a * x + 3", "x * 1e400", "x * -1e400"),
              Stream.of("x * (1e400 - 1e400)", "x * 5e-324"))
          .flatMap(expressions -> expressions)
          .toList();

  static List<ElementType<?>> types() {
    return List.of(
        ElementType.BYTE,
        ElementType.SHORT,
        ElementType.INT,
        ElementType.LONG,
        ElementType.FLOAT,
        ElementType.DOUBLE,
        ElementType.BOOLEAN);
  }

  /** All that the language can say over arrays of a type. */
  static Elementwise of(ElementType<?> type) {
    List<String> allowed = new ArrayList<>();
    for (String expression : EXPRESSIONS) {
      try {
        new Elementwise(type, List.of(expression)).program();
        allowed.add(expression);
      } catch (KernelCompilationException notOfThisType) {
        // Bits of floats, for one.
      }
    }
    assertThat(allowed).hasSizeGreaterThan(EXPRESSIONS.size() / 2);
    return new Elementwise(type, allowed);
  }

  String source() {
    StringBuilder source = new StringBuilder();
    for (int i = 0; i < expressions.size(); i++) {
      source.append("z").append(i).append(" = ").append(expressions.get(i)).append("\n");
    }
    return source.toString();
  }

  boolean names(String name) {
    return String.join("\n", expressions).matches("(?s).*\\b" + name + "\\b.*");
  }

  TypedProgram program() {
    List<KernelParameter> parameters = new ArrayList<>();
    parameters.add(KernelParameter.in("x", type));
    if (names("y")) {
      parameters.add(KernelParameter.in("y", type));
    }
    if (names("a")) {
      parameters.add(KernelParameter.scalar("a", ElementType.DOUBLE));
    }
    for (int i = 0; i < expressions.size(); i++) {
      parameters.add(KernelParameter.out("z" + i, ElementType.DOUBLE));
    }
    return Expression.parse(source()).resolve(parameters);
  }
}
