package dev.tidepool.expression.types;

import static dev.tidepool.expression.syntax.ScalarType.FLOAT32;
import static dev.tidepool.expression.syntax.ScalarType.FLOAT64;
import static dev.tidepool.expression.syntax.ScalarType.INT64;
import static dev.tidepool.expression.syntax.ScalarType.INT8;
import static dev.tidepool.expression.syntax.ScalarType.UINT64;
import static dev.tidepool.expression.syntax.ScalarType.UINT8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.tidepool.expression.jvm.Evaluation;
import dev.tidepool.expression.jvm.Reference;
import dev.tidepool.expression.syntax.ExpressionException;
import dev.tidepool.expression.syntax.Op;
import dev.tidepool.expression.syntax.ScalarType;
import dev.tidepool.expression.types.TypedProgram.Uniform;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PromotionTest {
  @Test
  void everyOperationHasNumPysResultType() throws IOException {
    List<String> wrong = new ArrayList<>();
    int checked = 0;
    for (String[] row : Reference.rows("promotion.tsv")) {
      String found = row[0].equals("=") ? assigned(row) : resultType(row);
      if (!found.equals(row[3])) {
        wrong.add(String.join(" ", row) + " but was " + found);
      }
      checked++;
    }
    assertThat(checked).isGreaterThan(3000);
    assertThat(wrong).isEmpty();
  }

  private static String resultType(String[] row) {
    Map<String, Operand> operands = new HashMap<>();
    operands.put("a", Operand.array(ScalarType.ofNumpyName(row[1])));
    operands.put("y", Operand.output());
    String b = row[2];
    if (!b.isEmpty() && !Character.isDigit(b.charAt(0)) && !b.equals("True")) {
      operands.put("b", Operand.array(ScalarType.ofNumpyName(b)));
      b = "b";
    }
    String op = row[0];
    String source;
    if (b.isEmpty()) {
      source = Op.FUNCTIONS.containsKey(op) ? op + "(a)" : op + "a";
    } else if (op.equals("?:")) {
      source = "true || a > a ? a : b";
    } else {
      String right = b.equals("True") ? "true" : b;
      source = Op.FUNCTIONS.containsKey(op) ? op + "(a, " + right + ")" : "a " + op + " " + right;
    }
    try {
      Expression expression = Expression.parse("y = " + source);
      return expression.resolve(operands).arrays().getFirst().type().numpyName();
    } catch (ExpressionException e) {
      return "error";
    }
  }

  private static String assigned(String[] row) {
    try {
      Expression.parse("y = a")
          .resolve(
              Map.of(
                  "a", Operand.array(ScalarType.ofNumpyName(row[1])),
                  "y", Operand.array(ScalarType.ofNumpyName(row[2]))));
      return "ok";
    } catch (ExpressionException e) {
      return "error";
    }
  }

  @Test
  void scalarsFollowTheArraysThroughOperatorsAndFunctions() {
    assertThat(natural("y = 2.5*a*x", FLOAT32, Operand.scalar(2))).isEqualTo(FLOAT32);
    assertThat(natural("y = sqrt(a)*x", FLOAT32, Operand.scalar(2))).isEqualTo(FLOAT32);
    assertThat(natural("y = (a + 1)*x", INT8, Operand.scalar(2))).isEqualTo(INT8);
    assertThat(natural("y = a/2*x", INT8, Operand.scalar(2))).isEqualTo(FLOAT64);
    assertThat(natural("y = x > 0 ? a : 2.5", FLOAT32, Operand.scalar(2))).isEqualTo(FLOAT64);
    assertThat(natural("y = x > 0 ? a : x", FLOAT32, Operand.scalar(2.5))).isEqualTo(FLOAT32);
    assertThat(natural("y = where(x > 0, a, x)", FLOAT32, Operand.scalar(2.5))).isEqualTo(FLOAT32);
    assertThat(natural("t = a + 1; y = t*x", UINT8, Operand.scalar(2))).isEqualTo(UINT8);
  }

  @Test
  void whatDependsOnScalarsAloneIsOneUniformOfEachTypeThatItTakes() {
    TypedProgram program =
        Expression.parse("y = a*x + a; z = x8 + a*3")
            .resolve(
                Map.of(
                    "a", Operand.scalar(2),
                    "x", Operand.array(FLOAT32),
                    "x8", Operand.array(INT8),
                    "y", Operand.output(),
                    "z", Operand.output()));

    assertThat(program.uniforms()).extracting(Uniform::type).containsExactly(FLOAT32, INT8);
    assertThat(program.uniformValues(Map.of("a", -5)))
        .containsExactly(Integer.toUnsignedLong(Float.floatToRawIntBits(-5f)), -15);
  }

  @Test
  void anIntegerLiteralThatDoesNotFitIsRefusedAtItsOperation() {
    assertThatExceptionOfType(ExpressionException.class)
        .isThrownBy(() -> natural("y = x + 300 + a", INT8, Operand.scalar(true)))
        .withMessageStartingWith("the integer 300 is out of bounds for int8 at column 7");
    assertThat(natural("y = x + 18446744073709551615 + (a ? 1 : 0)", UINT64, Operand.scalar(true)))
        .isEqualTo(UINT64);
  }

  @Test
  void anIntegerScalarThatDoesNotFitIsRefusedWhenItIsGiven() {
    TypedProgram program =
        Expression.parse("y = x + a")
            .resolve(
                Map.of("a", Operand.scalar(2), "x", Operand.array(UINT8), "y", Operand.output()));

    assertThat(program.uniformValues(Map.of("a", 255))).containsExactly(255);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> program.uniformValues(Map.of("a", -1)))
        .withMessage("'a' in 'y = x + a': the integer -1 is out of bounds for uint8");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> program.uniformValues(Map.of("a", BigInteger.TWO.pow(70))))
        .withMessageContaining("1180591620717411303424 is out of bounds for uint8");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> program.uniformValues(Map.of("a", 2.5)))
        .withMessageContaining("was resolved as INT, but is now the FLOAT 2.5");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> program.uniformValues(Map.of()))
        .withMessage("no value for the scalar 'a' of 'y = x + a'");
  }

  @Test
  void scalarsAloneDivideAsInPython() {
    TypedProgram program =
        Expression.parse("y = x * (a // b)")
            .resolve(
                Map.of(
                    "a", Operand.scalar(2),
                    "b", Operand.scalar(2),
                    "x", Operand.array(INT64),
                    "y", Operand.output()));

    assertThat(program.uniformValues(Map.of("a", -7, "b", 2))).containsExactly(-4);
    assertThatExceptionOfType(ArithmeticException.class)
        .isThrownBy(() -> program.uniformValues(Map.of("a", 1, "b", 0)))
        .withMessage("division of the scalar 1 by zero");
  }

  @Test
  void hugeIntegersDoNotEatTheMemory() {
    assertThatExceptionOfType(ExpressionException.class)
        .isThrownBy(() -> natural("y = x + a*9**9**9", INT64, Operand.scalar(1)))
        .withMessageStartingWith("an integer of more than 16384 bits");
  }

  @Test
  void aNegativeIntegerPowerOfIntegersIsRefused() {
    assertThatExceptionOfType(ExpressionException.class)
        .isThrownBy(() -> natural("y = x**-2 + a", INT64, Operand.scalar(1)))
        .withMessageStartingWith("integers to negative integer powers are not integers")
        .matches(e -> e.column() == 6);
  }

  @Test
  void fractionsAreNotStoredIntoIntegers() {
    assertThatExceptionOfType(ExpressionException.class)
        .isThrownBy(
            () ->
                Expression.parse("y = x/2")
                    .resolve(Map.of("x", Operand.array(INT64), "y", Operand.array(INT64))))
        .withMessageStartingWith(
            "the float64 result can't be stored into 'y' of int64 without losing its kind at column"
                + " 6; give 'y' the type float64, or another of its kind");
  }

  @Test
  void aPowerThatIsWrittenAsInMathematicsIsTold() {
    assertThatExceptionOfType(ExpressionException.class)
        .isThrownBy(() -> natural("y = x ^ 2 + a", FLOAT32, Operand.scalar(1)))
        .withMessageStartingWith(
            "'^' is not defined for float32 at column 7; it takes integers, and '**' is the power");
  }

  @Test
  void aScalarBeyondSmallIntegersComparesByValue() {
    byte[] y = new byte[2];

    new Evaluation("y = x < a")
        .bytes("x", (byte) 127, (byte) -128)
        .scalar("a", 300)
        .array("y", ScalarType.BOOL, MemorySegment.ofArray(y))
        .run(2);

    assertThat(y).containsExactly(1, 1);
  }

  /** NumPy 2.4 gives these; NumPy 1 computed some of them in float64. */
  @ParameterizedTest
  @CsvSource({
    "UINT64, -1",
    "UINT64, 18446744073709551616",
    "INT64, 9223372036854775808",
    "INT64, -9223372036854775809",
    "UINT8, -1",
    "UINT8, 256",
    "UINT8, 1180591620717411303424",
    "INT8, 128",
    "INT8, -1180591620717411303424"
  })
  void anIntegerLiteralBeyondTheElementsComparesByValue(ScalarType type, BigInteger literal) {
    byte below = (byte) (literal.signum() > 0 ? 1 : 0);
    byte above = (byte) (1 - below);
    String[] sources = {
      "x < L", "x <= L", "x > L", "x >= L", "x == L", "x != L",
      "L > x", "L >= x", "L < x", "L <= x", "L == x", "L != x"
    };
    byte[] expected = {below, below, above, above, 0, 1};
    for (int i = 0; i < sources.length; i++) {
      byte[] y = new byte[2];
      new Evaluation("y = " + sources[i].replace("L", literal.toString()))
          .array("x", type, MemorySegment.ofArray(new long[] {0, -1}))
          .array("y", ScalarType.BOOL, MemorySegment.ofArray(y))
          .run(2);
      assertThat(y).as(sources[i]).containsExactly(expected[i % 6], expected[i % 6]);
    }
  }

  @Test
  void booleansCompareWithNoIntegerBeyondInt64() {
    assertThatExceptionOfType(ExpressionException.class)
        .isThrownBy(() -> natural("y = (x < 2**63) + a", ScalarType.BOOL, Operand.scalar(1)))
        .withMessageStartingWith("the integer 9223372036854775808 is out of bounds for int64");
  }

  @Test
  void signedIntegersCompareWithUint64ByValue() {
    byte[] less = new byte[5];
    byte[] atLeast = new byte[5];
    byte[] same = new byte[5];
    byte[] other = new byte[5];

    new Evaluation("less = x < u; atLeast = u >= x; same = x == u; other = u != x")
        .longs("x", -1, Long.MAX_VALUE, Long.MAX_VALUE, (1L << 53) + 1, Long.MIN_VALUE)
        .array(
            "u",
            UINT64,
            MemorySegment.ofArray(
                new long[] {-1, Long.MIN_VALUE, Long.MAX_VALUE, 1L << 53, Long.MIN_VALUE}))
        .array("less", ScalarType.BOOL, MemorySegment.ofArray(less))
        .array("atLeast", ScalarType.BOOL, MemorySegment.ofArray(atLeast))
        .array("same", ScalarType.BOOL, MemorySegment.ofArray(same))
        .array("other", ScalarType.BOOL, MemorySegment.ofArray(other))
        .run(5);

    assertThat(less).containsExactly(1, 1, 0, 0, 1);
    assertThat(atLeast).containsExactly(1, 1, 1, 0, 1);
    assertThat(same).containsExactly(0, 0, 1, 0, 0);
    assertThat(other).containsExactly(1, 1, 0, 1, 1);
  }

  private static ScalarType natural(String source, ScalarType x, Operand a) {
    return Expression.parse(source)
        .resolve(Map.of("x", Operand.array(x), "a", a, "y", Operand.output()))
        .arrays()
        .stream()
        .filter(array -> array.name().equals("y"))
        .findFirst()
        .orElseThrow()
        .type();
  }
}
