package dev.tidepool.methods.bytecode;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.KernelExpression.Binary;
import dev.tidepool.methods.tree.KernelExpression.Constant;
import dev.tidepool.methods.tree.KernelExpression.Operator;
import dev.tidepool.methods.tree.ValueType;
import java.util.Map;
import java.util.function.IntBinaryOperator;
import java.util.function.LongBinaryOperator;
import org.junit.jupiter.api.Test;

/** Integers that are computed when a kernel is compiled are those that Java computes. */
class ConstantFoldingTest {
  private static final int[] INTS = {
    0, 1, -1, 2, 7, 31, 32, 33, -32, 65, 46341, -46341, Integer.MAX_VALUE, Integer.MIN_VALUE
  };
  private static final long[] LONGS = {
    0, 1, -1, 3, 63, 64, 65, 1L << 31, -1L << 31, 3037000500L, Long.MAX_VALUE, Long.MIN_VALUE
  };

  private static final Map<Operator, IntBinaryOperator> OF_INTS =
      Map.of(
          Operator.ADD, (a, b) -> a + b,
          Operator.SUBTRACT, (a, b) -> a - b,
          Operator.MULTIPLY, (a, b) -> a * b,
          Operator.AND, (a, b) -> a & b,
          Operator.OR, (a, b) -> a | b,
          Operator.XOR, (a, b) -> a ^ b,
          Operator.SHIFT_LEFT, (a, b) -> a << b,
          Operator.SHIFT_RIGHT, (a, b) -> a >> b,
          Operator.SHIFT_RIGHT_UNSIGNED, (a, b) -> a >>> b);

  private static final Map<Operator, LongBinaryOperator> OF_LONGS =
      Map.of(
          Operator.ADD, (a, b) -> a + b,
          Operator.SUBTRACT, (a, b) -> a - b,
          Operator.MULTIPLY, (a, b) -> a * b,
          Operator.AND, (a, b) -> a & b,
          Operator.OR, (a, b) -> a | b,
          Operator.XOR, (a, b) -> a ^ b);

  private static final Map<Operator, LongBinaryOperator> SHIFTS =
      Map.of(
          Operator.SHIFT_LEFT, (a, b) -> a << (int) b,
          Operator.SHIFT_RIGHT, (a, b) -> a >> (int) b,
          Operator.SHIFT_RIGHT_UNSIGNED, (a, b) -> a >>> (int) b);

  @Test
  void intsAreJavas() {
    for (int a : INTS) {
      for (int b : INTS) {
        Constant left = Constant.of(a);
        OF_INTS.forEach(
            (operator, java) ->
                assertThat(ConstantFolding.binary(operator, left, Constant.of(b)))
                    .isEqualTo(Constant.of(java.applyAsInt(a, b))));
        if (b != 0) {
          assertThat(ConstantFolding.divided(left, b, false)).isEqualTo(Constant.of(a / b));
          assertThat(ConstantFolding.divided(left, b, true)).isEqualTo(Constant.of(a % b));
        }
      }
    }
  }

  @Test
  void longsAreJavas() {
    for (long a : LONGS) {
      Constant left = Constant.of(a);
      for (long b : LONGS) {
        OF_LONGS.forEach(
            (operator, java) ->
                assertThat(ConstantFolding.binary(operator, left, Constant.of(b)))
                    .isEqualTo(Constant.of(java.applyAsLong(a, b))));
        if (b != 0) {
          assertThat(ConstantFolding.divided(left, b, false)).isEqualTo(Constant.of(a / b));
          assertThat(ConstantFolding.divided(left, b, true)).isEqualTo(Constant.of(a % b));
        }
      }
      for (int b : INTS) {
        SHIFTS.forEach(
            (operator, java) ->
                assertThat(ConstantFolding.binary(operator, left, Constant.of(b)))
                    .isEqualTo(Constant.of(java.applyAsLong(a, b))));
      }
    }
  }

  @Test
  void floatsStayAsTheyAre() {
    KernelExpression one = new Constant(ValueType.FLOAT, Float.floatToRawIntBits(1));
    assertThat(ConstantFolding.binary(Operator.ADD, one, one))
        .isEqualTo(new Binary(Operator.ADD, one, one));
  }
}
