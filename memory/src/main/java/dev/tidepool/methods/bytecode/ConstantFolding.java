package dev.tidepool.methods.bytecode;

import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.KernelExpression.Binary;
import dev.tidepool.methods.tree.KernelExpression.Constant;
import dev.tidepool.methods.tree.KernelExpression.Operator;
import dev.tidepool.methods.tree.ValueType;

/**
 * Computes integer expressions with constant operands, such as the length {@code TILE * TILE} of an
 * array. Java's compiler has computed those whose values it knows; values that are read from fields
 * are known only here.
 */
final class ConstantFolding {
  private ConstantFolding() {}

  /** Returns an operation, or its value if the operands are constant integers. */
  static KernelExpression binary(Operator operator, KernelExpression left, KernelExpression right) {
    if (!(left instanceof Constant(ValueType type, long first))
        || !(right instanceof Constant(_, long second))
        || type.isFloating()) {
      return new Binary(operator, left, right);
    }
    boolean isLong = type == ValueType.LONG;
    int shift = (int) second;
    long value =
        switch (operator) {
          case ADD -> first + second;
          case SUBTRACT -> first - second;
          case MULTIPLY -> first * second;
          case AND -> first & second;
          case OR -> first | second;
          case XOR -> first ^ second;
          case SHIFT_LEFT -> isLong ? first << shift : (int) first << shift;
          case SHIFT_RIGHT -> isLong ? first >> shift : (int) first >> shift;
          case SHIFT_RIGHT_UNSIGNED -> isLong ? first >>> shift : (int) first >>> shift;
          default -> throw new AssertionError(operator);
        };
    return constant(type, value);
  }

  /** Returns a quotient or remainder of two constants; the divisor is not 0. */
  static Constant divided(Constant dividend, long divisor, boolean isRemainder) {
    // The quotient of the least long and -1 wraps, and so does that of the least int when narrowed.
    return constant(
        dividend.type(), isRemainder ? dividend.bits() % divisor : dividend.bits() / divisor);
  }

  private static Constant constant(ValueType type, long value) {
    return type == ValueType.LONG ? Constant.of(value) : Constant.of((int) value);
  }
}
