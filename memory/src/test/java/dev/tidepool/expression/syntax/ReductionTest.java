package dev.tidepool.expression.syntax;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.tuple;

import dev.tidepool.expression.types.Expression;
import dev.tidepool.expression.types.Operand;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ReductionTest {
  @Test
  void aReductionIsTakenOutAndEveryOtherCharacterStaysInItsPlace() {
    Expression expression =
        Expression.parseReducing(
            "t = x*x; s = sum(t + max(x, y)); h = histogram(x, 10, -1.5, top)");

    assertThat(expression.source())
        .isEqualTo("t = x*x; s =    (t + max(x, y)); h =          (x               )");
    assertThat(expression.reductions())
        .extracting(Reduction::name, Reduction::kind)
        .containsExactly(tuple("s", Reduction.Kind.SUM), tuple("h", Reduction.Kind.HISTOGRAM));
    Reduction histogram = expression.reductions().getLast();
    assertThat(histogram.scalars()).containsExactly("top");
    assertThat(
            histogram.settings().stream().map(setting -> setting.in(Map.of("top", 2)).intValue()))
        .containsExactly(10, -1, 2);
    assertThat(expression.names()).extracting(Expression.Name::name).doesNotContain("top");
  }

  @Test
  void leastAndGreatestOfTwoArraysStayElementwise() {
    Expression expression = Expression.parseReducing("s = min(a, b)");

    assertThat(expression.reductions()).isEmpty();
    assertThat(expression.source()).isEqualTo("s = min(a, b)");
    assertThat(Expression.parseReducing("s = min(a)").reductions()).hasSize(1);
  }

  @Test
  void aReductionMayBeCalledWhatItsFunctionIs() {
    Expression expression = Expression.parseReducing("sum = sum(x); mean = mean(x)");

    assertThat(expression.reductions()).extracting(Reduction::name).containsExactly("sum", "mean");
    assertThat(expression.source()).isEqualTo("sum =    (x); mean =     (x)");
  }

  @Test
  void anErrorThatShowsAnotherSourceKeepsItsSuppressedExceptions() {
    ExpressionException refused = ExpressionException.at("s =    (x & 3)", 10, "no integers");
    IllegalStateException closing = new IllegalStateException("a file could not be closed");
    refused.addSuppressed(closing);

    ExpressionException shown = refused.in("s = sum(x & 3)");

    assertThat(shown).hasMessageStartingWith("no integers at column 11\n  s = sum(x & 3)\n");
    assertThat(shown.getSuppressed()).containsExactly(closing);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '"',
      value = {
        "s = 2*sum(x)                    | makes one value of all elements | 7",
        "s = sum(x) + sum(y)             | makes one value of all elements | 5",
        "s = -min(x)                     | with one it makes one value     | 6",
        "s = sum()                       | 'sum' takes 1 argument, not 0   | 5",
        "s = mean(x, y)                  | 'mean' takes 1 argument, not 2  | 5",
        "s = sum(x, axis=0)              | an axis is an option of eval    | 5",
        "s = histogram(x, 3)             | 4 arguments, an array           | 5",
        "s = histogram(x, 3, 2*a, 1)     | the name of a scalar            | 21",
        "s = sum(x); t = s               | known only when all were read   | 17",
        "s = sum(s)                      | known only when all were read   | 9",
        "s = sum(x); s = sum(y)          | known only when all were read   | 13",
        "s = sum(2*(x + 1)               | a ')' is missing before the end | 18",
        "s = max(x; t = x                | a ')' is missing before ';'     | 10",
        "max = max(x)                    | can't be assigned               | 1"
      })
  void whatIsNoReductionIsRefusedAtItsPlace(String source, String problem, int column) {
    assertThatExceptionOfType(ExpressionException.class)
        .isThrownBy(() -> Expression.parseReducing(source))
        .withMessageContaining(problem)
        .satisfies(e -> assertThat(e.column()).isEqualTo(column));
  }

  @Test
  void errorsOfTheElementwisePartShowTheTextAsItWasWritten() {
    assertThatExceptionOfType(ExpressionException.class)
        .isThrownBy(
            () ->
                Expression.parseReducing("s = sum(q*x)")
                    .resolve(Map.of("s", Operand.output(), "x", Operand.array(ScalarType.FLOAT32))))
        .withMessageContaining("unknown name 'q'")
        .withMessageContaining("s = sum(q*x)");
  }

  @Test
  void kernelsThemselvesTakeNoReduction() {
    assertThatExceptionOfType(ExpressionException.class)
        .isThrownBy(() -> Expression.parse("s = sum(x)"))
        .withMessageContaining("pipelines and eval take it");
  }

  @Test
  void resultsHaveTheTypesOfNumPy() {
    Reduction sum = Expression.parseReducing("s = sum(x)").reductions().getFirst();
    Reduction mean = Expression.parseReducing("s = mean(x)").reductions().getFirst();
    Reduction max = Expression.parseReducing("s = max(x)").reductions().getFirst();

    assertThat(List.of(ScalarType.BOOL, ScalarType.INT8, ScalarType.UINT16, ScalarType.FLOAT32))
        .extracting(sum::resultType, mean::resultType, max::resultType)
        .containsExactly(
            tuple(ScalarType.INT64, ScalarType.FLOAT64, ScalarType.BOOL),
            tuple(ScalarType.INT64, ScalarType.FLOAT64, ScalarType.INT8),
            tuple(ScalarType.UINT64, ScalarType.FLOAT64, ScalarType.UINT16),
            tuple(ScalarType.FLOAT32, ScalarType.FLOAT32, ScalarType.FLOAT32));
  }

  @Test
  void onlyArithmeticIsTheSameOnEveryAccelerator() {
    assertThat(Expression.parseReducing("s = sum(sqrt(x*x + y/3))").isExact()).isTrue();
    assertThat(Expression.parseReducing("t = 2*x; s = sum(t + sin(x))").isExact()).isFalse();
  }
}
