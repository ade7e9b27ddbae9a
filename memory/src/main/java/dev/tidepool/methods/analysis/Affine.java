package dev.tidepool.methods.analysis;

import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.KernelExpression.Constant;
import dev.tidepool.methods.tree.KernelExpression.Conversion;
import dev.tidepool.methods.tree.KernelExpression.Operator;
import dev.tidepool.methods.tree.ValueType;
import dev.tidepool.methods.tree.Variable;
import java.util.Map;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * An int expression that equals {@code factor * variable + offset} modulo 2<sup>32</sup>. Factor
 * and offset do not change in the loop that counts the variable.
 */
record Affine(KernelExpression factor, KernelExpression offset) {
  private static final Constant ZERO = Constant.of(0);
  private static final Constant ONE = Constant.of(1);

  /** The variable itself. */
  static final Affine VARIABLE = new Affine(ONE, ZERO);

  /**
   * Returns the affine form of an int, or of the low 32 bits of a long.
   *
   * @param known the forms of variables that are set in the loop
   * @param isInvariant whether an expression does not change in the loop
   * @return the form; null if the value has none
   */
  static @Nullable Affine of(
      KernelExpression value,
      Map<Variable, Affine> known,
      Predicate<KernelExpression> isInvariant) {
    if (isInvariant.test(value)) {
      return new Affine(
          ZERO,
          value.type() == ValueType.LONG
              ? new KernelExpression.Convert(Conversion.L2I, value)
              : value);
    }
    return switch (value) {
      case KernelExpression.Read(Variable variable) -> known.get(variable);
      case KernelExpression.Negate(KernelExpression operand) -> {
        Affine form = of(operand, known, isInvariant);
        yield form == null ? null : form.times(Constant.of(-1));
      }
      case KernelExpression.Convert(Conversion conversion, KernelExpression operand) ->
          conversion == Conversion.I2L || conversion == Conversion.L2I
              ? of(operand, known, isInvariant)
              : null;
      case KernelExpression.Binary(
              Operator operator,
              KernelExpression left,
              KernelExpression right) -> {
        Affine first = of(left, known, isInvariant);
        Affine second = of(right, known, isInvariant);
        yield first == null || second == null ? null : first.combined(operator, second, right);
      }
      default -> null;
    };
  }

  private @Nullable Affine combined(Operator operator, Affine other, KernelExpression operand) {
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

  /** Returns whether the value does not change in the loop. */
  boolean isConstant() {
    return factor.equals(ZERO);
  }

  /** Returns whether the value is known to grow with the variable. */
  boolean isGrowing() {
    return factor instanceof Constant constant && constant.bits() > 0;
  }

  /** Returns the value as a long, computed without overflow, for a value of the variable. */
  KernelExpression at(KernelExpression variable) {
    KernelExpression wideOffset = wide(offset);
    if (isConstant()) {
      return wideOffset;
    }
    KernelExpression product =
        factor.equals(ONE)
            ? variable
            : new KernelExpression.Binary(Operator.MULTIPLY, wide(factor), variable);
    return offset.equals(ZERO)
        ? product
        : new KernelExpression.Binary(Operator.ADD, wideOffset, product);
  }

  /** Returns an int as a long. */
  static KernelExpression wide(KernelExpression value) {
    return value instanceof Constant constant
        ? Constant.of(constant.bits())
        : new KernelExpression.Convert(Conversion.I2L, value);
  }

  private Affine times(KernelExpression number) {
    return new Affine(product(factor, number), product(offset, number));
  }

  private static KernelExpression sum(KernelExpression left, KernelExpression right) {
    if (left.equals(ZERO)) {
      return right;
    }
    if (right.equals(ZERO)) {
      return left;
    }
    return left instanceof Constant a && right instanceof Constant b
        ? Constant.of((int) (a.bits() + b.bits()))
        : new KernelExpression.Binary(Operator.ADD, left, right);
  }

  private static KernelExpression product(KernelExpression left, KernelExpression right) {
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
        : new KernelExpression.Binary(Operator.MULTIPLY, left, right);
  }
}
