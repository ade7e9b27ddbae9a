package dev.tidepool.expression.types;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelParameter.Access;
import dev.tidepool.expression.jvm.Evaluation;
import dev.tidepool.expression.syntax.ExpressionException;
import dev.tidepool.expression.syntax.ScalarType;
import dev.tidepool.expression.types.Expression.Name;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ExpressionTest {
  @Test
  void namesComeInOrderWithWhatIsDoneWithThem() {
    Expression expression = Expression.parse("t = x*x\ny = a*t + y; z = y");

    assertThat(expression.names())
        .containsExactly(
            new Name("t", Access.OUT, 1, 1),
            new Name("x", Access.IN, 1, 5),
            new Name("y", Access.INOUT, 2, 1),
            new Name("a", Access.IN, 2, 5),
            new Name("z", Access.OUT, 2, 14));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "y = 2 +* x      | 8  | a value was expected, not '*'",
        "y = 2x          | 6  | unexpected 'x' after the number 2; write '*' between a number and a"
            + " name",
        "y = 1.2.3       | 8  | unexpected '.' after the number 1.2",
        "y = (x + 1      | 11 | a ')' is missing before the end",
        "y = x + 1)      | 10 | unexpected ')'",
        "y = x y         | 7  | unexpected 'y'; an operator is missing",
        "y = x and x     | 7  | unexpected 'and'; write '&&'",
        "y = x or x      | 7  | `unexpected 'or'; write '||'`",
        "y = Math.abs(x) | 9  | unexpected character '.'; functions are written without a class:"
            + " sqrt(x), not Math.sqrt(x)",
        "y = np.abs(x)   | 7  | unexpected character '.'; functions are written without a class:"
            + " sqrt(x), not Math.sqrt(x)",
        "y = x.sum()     | 6  | unexpected character '.'; functions take arrays in parentheses:"
            + " sum(x), not x.sum()",
        "y = x.max(0)    | 6  | unexpected character '.'; functions take arrays in parentheses:"
            + " max(x), not x.max()",
        "y = x = 2       | 7  | unexpected '='; '==' compares",
        "2*x + 1         | 1  | an assignment 'name = expression' was expected",
        "y               | 1  | an assignment 'name = expression' was expected",
        "true = x        | 1  | 'true' is a value and can't be assigned",
        "sin = x         | 1  | 'sin' is a function and can't be assigned",
        "y = sni(x)      | 5  | unknown function 'sni'; did you mean 'sin'?",
        "y = frobnicate(x)| 5 | unknown function 'frobnicate'; the functions are abs, acos, asin,"
            + " atan, atan2, cbrt, ceil, cos, cosh, exp, exp2, expm1, floor, fma, hypot, log,"
            + " log10, log1p, log2, max, min, pow, rint, sin, sinh, sqrt, tan, tanh, where",
        "y = summ(x)     | 5  | unknown function 'summ'; did you mean 'sum'?",
        "y = prod(x)     | 5  | unknown function 'prod'; the reductions that pipelines and eval"
            + " take are sum, min, max, mean and histogram",
        "y = sin         | 5  | the function 'sin' needs its arguments in parentheses",
        "y = sin(x, x)   | 5  | 'sin' takes 1 argument, not 2",
        "y = fma(x)      | 5  | 'fma' takes 3 arguments, not 1",
        "y = pow()       | 5  | 'pow' takes 2 arguments, not 0",
        "y = x ? 1       | 10 | the ':' of '?' is missing before the end",
        "y = 1 < x < 3   | 11 | comparisons don't chain; join two of them with '&&'",
        "y = x @ 2       | 7  | unexpected character '@'",
        "y = x[2]        | 6  | unexpected character '['; an expression computes each element from"
            + " those at the same index. Write kernels that index arrays as Java methods"
            + " (KernelSource.method), or by hand (KernelSource.java, .opencl, .cuda)",
        "where = x       | 1  | 'where' is a function and can't be assigned",
        "y = where(x, 1) | 5  | 'where' takes 3 arguments, not 2",
        "y = 1//0        | 6  | division of the scalar 1 by zero",
      })
  void aSlipIsShownUnderTheLine(String source, int column, String problem) {
    ExpressionException refusal =
        catchThrowableOfType(
            ExpressionException.class,
            () -> Expression.parse(source).resolve(Map.of("y", Operand.output())));

    assertThat(refusal.column()).isEqualTo(column);
    assertThat(refusal.line()).isEqualTo(1);
    // The place is before the advice.
    assertThat(refusal.getMessage())
        .isEqualTo(
            problem.replaceFirst("(; .*)?$", " at column " + column + "$1")
                + "\n  "
                + source
                + "\n  "
                + " ".repeat(column - 1)
                + "^");
  }

  @Test
  void controlCharactersAreShownAsEscapesWithTheCaretAtTheirPlace() {
    assertThatExceptionOfType(ExpressionException.class)
        .isThrownBy(() -> Expression.parse("y = x +\u001b[2J"))
        .withMessage("unexpected character '\\u001b' at column 8\n  y = x +\\u001b[2J\n         ^");
  }

  @Test
  void anUnknownNameIsShownWithItsLine() {
    Expression expression = Expression.parse("t = 2*x\n\ty = 2*x+q\nz = y");

    assertThatExceptionOfType(KernelCompilationException.class)
        .isThrownBy(
            () ->
                expression.resolve(
                    Map.of("x", Operand.array(ScalarType.FLOAT32), "z", Operand.output())))
        .withMessage(
            "unknown name 'q' at column 10 of line 2; give it an array or a value\n"
                + "  \ty = 2*x+q\n"
                + "  \t        ^");
  }

  @Test
  void anUnknownNameIsLikenedToABoundOne() {
    assertThatExceptionOfType(ExpressionException.class)
        .isThrownBy(
            () ->
                Expression.parse("y = wieght*2")
                    .resolve(
                        Map.of("weight", Operand.array(ScalarType.FLOAT32), "y", Operand.output())))
        .withMessageStartingWith("unknown name 'wieght' at column 5; did you mean 'weight'?")
        .matches(e -> e.column() == 5);
  }

  @Test
  void boundNamesMustBeInTheSource() {
    assertThatIllegalArgumentException()
        .isThrownBy(
            () ->
                Expression.parse("y = 1.0")
                    .resolve(Map.of("y", Operand.output(), "z", Operand.output())))
        .withMessage("'z' is bound, but 'y = 1.0' has only y");
  }

  @Test
  void somethingMustBeWritten() {
    assertThatIllegalArgumentException()
        .isThrownBy(
            () ->
                Expression.parse("y = x; z = y")
                    .resolve(Map.of("x", Operand.array(ScalarType.INT8))))
        .withMessage("nothing would be written: give an array or a buffer for y or z");
  }

  @Test
  void anEmptySourceSaysWhatToWrite() {
    assertThatExceptionOfType(ExpressionException.class)
        .isThrownBy(() -> Expression.parse(" ; \n "))
        .withMessageStartingWith(
            "the expression is empty at column 3 of line 1; write an assignment such as 'y = 2*x'");
  }

  @Test
  void anAssignedNameTakesNoScalarAndAReadOneNoNewArray() {
    assertThatExceptionOfType(ExpressionException.class)
        .isThrownBy(
            () ->
                Expression.parse("y = 1; z = y")
                    .resolve(Map.of("y", Operand.scalar(2), "z", Operand.output())))
        .withMessageStartingWith("'y' is assigned, so it needs an array, not a scalar");
    assertThatExceptionOfType(ExpressionException.class)
        .isThrownBy(() -> Expression.parse("y = y + 1").resolve(Map.of("y", Operand.output())))
        .withMessageStartingWith("'y' is read, so it needs an array that exists");
  }

  @Test
  void sourcesTooDeepForTheStackAreRefused() {
    assertThatExceptionOfType(ExpressionException.class)
        .isThrownBy(() -> Expression.parse("y = " + "(".repeat(5000)))
        .withMessageStartingWith("more than 150 parentheses");
    assertThatExceptionOfType(ExpressionException.class)
        .isThrownBy(() -> Expression.parse("y = " + "-".repeat(5000) + "x"))
        .withMessageStartingWith("more than 150 signs");
    assertThatExceptionOfType(ExpressionException.class)
        .isThrownBy(() -> Expression.parse("y = x" + "+x".repeat(5000)))
        .withMessageStartingWith("more than 1000 operations");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "9            | a number of 1000000 characters; 1000 are the most",
        "0.9          | a number of 1000000 characters; 1000 are the most",
        "a            | a name of 1000000 characters; 255 are the most",
      })
  void aWordThatIsTooLongIsRefusedAtOnceAndNotRepeated(String word, String problem) {
    String last = word.substring(word.length() - 1);
    String text = word + last.repeat(1_000_000 - word.length());
    for (String source :
        new String[] {
          "y = " + text, "y = x + sum(" + text + ")*2", "y = min(x, 3, " + text + ")"
        }) {
      assertThatExceptionOfType(ExpressionException.class)
          .isThrownBy(() -> Expression.parseReducing(source))
          .withMessageStartingWith(
              problem.replace(";", " at column " + (1 + source.indexOf(text)) + ";"))
          .satisfies(refusal -> assertThat(refusal.getMessage()).hasSizeLessThan(400));
    }
    assertThatExceptionOfType(ExpressionException.class)
        .isThrownBy(() -> Expression.parse(text + " = x"))
        .satisfies(refusal -> assertThat(refusal.getMessage()).hasSizeLessThan(400));
  }

  @Test
  void ofALongLineAnErrorShowsWhatStandsAroundItsPlace() {
    String sum = "x + ".repeat(200);
    assertThatExceptionOfType(ExpressionException.class)
        .isThrownBy(() -> Expression.parse("y = " + sum + "2x + " + sum + "x"))
        .withMessage(
            "unexpected 'x' after the number 2 at column 806; write '*' between a number and a name"
                + "\n  \u2026"
                + "x + ".repeat(200).substring(800 - 58)
                + "2x + "
                + "x + ".repeat(200).substring(0, 56)
                + "\u2026"
                + "\n  "
                + " ".repeat(60)
                + "^")
        .satisfies(refusal -> assertThat(refusal.column()).isEqualTo(806));
  }

  @Test
  void aSourceThatIsTooLongToReadIsNotRepeatedInErrors() {
    String source = "y = 1" + "; y = y + 1".repeat(900);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Expression.parse(source).resolve(Map.of("q", Operand.output())))
        .satisfies(refusal -> assertThat(refusal.getMessage()).hasSizeLessThan(400));
    assertThatExceptionOfType(ExpressionException.class)
        .isThrownBy(
            () ->
                Expression.parse("y = " + "7".repeat(900) + " // 0")
                    .resolve(Map.of("y", Operand.output())))
        .satisfies(refusal -> assertThat(refusal.getMessage()).hasSizeLessThan(400));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '=',
      value = {
        "1 + 2*3          = 7",
        "2**3**2          = 512",
        "-2**2            = -4",
        "2**-1.0          = 0.5",
        "7 - 2 - 1        = 4",
        "-7 // 2          = -4",
        "-7 % 3           = 2",
        "7 % -3           = -2",
        "7 / 2            = 3.5",
        "1 << 3 + 1       = 16",
        "6 & 3 > 1        = 1",
        "1 | 6 ^ 3        = 5",
        "!true + 1        = 1",
        "true ? false ? 1 : 2 : 3 = 2",
        "false ? 1 : false ? 2 : 3 = 3",
        "1 < 2 && 2 < 1 || true = 1",
        "~5               = -6",
        "min(3, 2) + max(1, 5) = 7",
        "(1 +             2) * 2 = 6",
        ".5 + 1. + 1e1    = 11.5",
        "18446744073709551616 - 18446744073709551615 = 1",
        "fma(2, 3, 4)     = 10",
        "abs(-3) + sqrt(16) + pow(2, 3) = 15",
      })
  void precedenceIsPythons(String value, double expected) {
    double[] y = new double[1];

    new Evaluation("y = " + value).doubles("y", y).run(1);

    assertThat(y[0]).isEqualTo(expected);
  }

  @Test
  void linesEndInsideParenthesesWithoutEndingTheAssignment() {
    double[] y = new double[1];

    new Evaluation("y = (1 +\n 2)\n\n").doubles("y", y).run(1);

    assertThat(y[0]).isEqualTo(3);
  }
}
