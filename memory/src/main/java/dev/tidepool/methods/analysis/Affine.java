package dev.tidepool.methods.analysis;

import dev.tidepool.methods.tree.Expression;
import dev.tidepool.methods.tree.Expression.Constant;
import dev.tidepool.methods.tree.Expression.Conversion;
import dev.tidepool.methods.tree.Expression.Operator;
import dev.tidepool.methods.tree.ValueType;
import dev.tidepool.methods.tree.Variable;
import java.util.Map;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * An int that is {@code factor * variable + offset}, all computed as ints wrap: equal to it modulo
 * 2<sup>32</sup>. Factor and offset do not change in the loop that the variable counts.
 */
record Affine(Expression factor, Expression offset) {
  private static final Constant ZERO = Constant.of(0);
  private static final Constant ONE = Constant.of(1);

  /** The variable itself. */
  static final Affine VARIABLE = new Affine(ONE, ZERO);

  /**
   * The form of an int or a long, of a long that of its lowest bits.
   *
   * @param known the forms of variables that are set in the loop
   * @param isInvariant whether an expression does not change in the loop
   * @return null if it has none
   */
  static @Nullable Affine of(
      Expression value, Map<Variable, Affine> known, Predicate<Expression> isInvariant) {
    if (isInvariant.test(value)) {
      return new Affine(
          ZERO,
          value.type() == ValueType.LONG ? new Expression.Convert(Conversion.L2I, value) : value);
    }
    return switch (value) {
      case Expression.Read(Variable variable) -> known.get(variable);
      case Expression.Negate(Expression operand) -> {
        Affine form = of(operand, known, isInvariant);
        yield form == null ? null : form.times(Constant.of(-1));
      }
      case Expression.Convert(Conversion conversion, Expression operand) ->
          conversion == Conversion.I2L || conversion == Conversion.L2I
              ? of(operand, known, isInvariant)
              : null;
      case Expression.Binary(Operator operator, Expression left, Expression right) -> {
        Affine first = of(left, known, isInvariant);
        Affine second = of(right, known, isInvariant);
        yield first == null || second == null ? null : first.combined(operator, second, right);
      }
      default -> null;
    };
  }

  private @Nullable Affine combined(Operator operator, Affine other, Expression operand) {
    return switch (operator) {
      case ADD -> new Affine(sum(factor, other.factor), sum(offset, other.offset));
      case SUBTRACT -> combined(Operator.ADD, other.times(Constant.of(-1)), operand);
      case MULTIPLY -> {
        if (other.isConstant()) {
          yield times(other.offset);
        }
        yield isConstant() ? other.times(offset) : null;
      }
      case SHIFT_LEFT ->
          operand instanceof Constant constant && constant.bits() >= 0 && constant.bits() < 31
              ? times(Constant.of(1 << constant.bits()))
              : null;
      default -> null;
    };
  }

  /** Whether it does not change in the loop. */
  boolean isConstant() {
    return factor.equals(ZERO);
  }

  /** Whether it grows with the variable, as far as is known. */
  boolean isGrowing() {
    return factor instanceof Constant constant && constant.bits() > 0;
  }

  /** What it is where the variable has a value, computed without overflow; a long. */
  Expression at(Expression variable) {
    Expression wideOffset = wide(offset);
    if (isConstant()) {
      return wideOffset;
    }
    Expression product =
        factor.equals(ONE)
            ? variable
            : new Expression.Binary(Operator.MULTIPLY, wide(factor), variable);
    return offset.equals(ZERO) ? product : new Expression.Binary(Operator.ADD, wideOffset, product);
  }

  /** An int as a long. */
  static Expression wide(Expression value) {
    return value instanceof Constant constant
        ? Constant.of(constant.bits())
        : new Expression.Convert(Conversion.I2L, value);
  }

  private Affine times(Expression number) {
    return new Affine(product(factor, number), product(offset, number));
  }

  private static Expression sum(Expression left, Expression right) {
    if (left.equals(ZERO)) {
      return right;
    }
    if (right.equals(ZERO)) {
      return left;
    }
    return left instanceof Constant a && right instanceof Constant b
        ? Constant.of((int) (a.bits() + b.bits()))
        : new Expression.Binary(Operator.ADD, left, right);
  }

  private static Expression product(Expression left, Expression right) {
    if (left.equals(ZERO) || right.equals(ZERO)) {
      return ZERO;
    }
    if (left.equals(ONE)) {
      return right;
    }
    if (right.equals(ONE)) {
      return left;
    }
    return left instanceof Constant a && right instanceof Constant b
        ? Constant.of((int) (a.bits() * b.bits()))
        : new Expression.Binary(Operator.MULTIPLY, left, right);
  }
}
