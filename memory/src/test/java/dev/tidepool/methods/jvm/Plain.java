package dev.tidepool.methods.jvm;

import dev.tidepool.methods.tree.KernelExpression.Comparison;
import dev.tidepool.methods.tree.KernelExpression.Conversion;
import dev.tidepool.methods.tree.KernelExpression.Operator;

/** What Java computes, on boxed numbers. */
final class Plain {
  private Plain() {}

  /** Whether the right operand is an int, whatever the left one is. */
  static boolean isShift(Operator operator) {
    return switch (operator) {
      case SHIFT_LEFT, SHIFT_RIGHT, SHIFT_RIGHT_UNSIGNED -> true;
      default -> false;
    };
  }

  static Object binary(Operator operator, Object left, Object right) {
    return switch (left) {
      case Integer a -> ofInts(operator, a, (Integer) right);
      case Long a ->
          isShift(operator)
              ? (Object) shifted(operator, a, (Integer) right)
              : ofLongs(operator, a, (Long) right);
      case Float a -> ofFloats(operator, a, (Float) right);
      case Double a -> ofDoubles(operator, a, (Double) right);
      default -> throw new AssertionError(left);
    };
  }

  private static Object ofInts(Operator operator, int a, int b) {
    return switch (operator) {
      case ADD -> a + b;
      case SUBTRACT -> a - b;
      case MULTIPLY -> a * b;
      case AND -> a & b;
      case OR -> a | b;
      case XOR -> a ^ b;
      case SHIFT_LEFT -> a << b;
      case SHIFT_RIGHT -> a >> b;
      case SHIFT_RIGHT_UNSIGNED -> a >>> b;
      default -> throw new AssertionError(operator);
    };
  }

  private static long shifted(Operator operator, long a, int b) {
    return switch (operator) {
      case SHIFT_LEFT -> a << b;
      case SHIFT_RIGHT -> a >> b;
      default -> a >>> b;
    };
  }

  private static Object ofLongs(Operator operator, long a, long b) {
    return switch (operator) {
      case ADD -> a + b;
      case SUBTRACT -> a - b;
      case MULTIPLY -> a * b;
      case AND -> a & b;
      case OR -> a | b;
      case XOR -> a ^ b;
      default -> throw new AssertionError(operator);
    };
  }

  private static Object ofFloats(Operator operator, float a, float b) {
    return switch (operator) {
      case ADD -> a + b;
      case SUBTRACT -> a - b;
      case MULTIPLY -> a * b;
      case DIVIDE -> a / b;
      case REMAINDER -> a % b;
      default -> throw new AssertionError(operator);
    };
  }

  private static Object ofDoubles(Operator operator, double a, double b) {
    return switch (operator) {
      case ADD -> a + b;
      case SUBTRACT -> a - b;
      case MULTIPLY -> a * b;
      case DIVIDE -> a / b;
      case REMAINDER -> a % b;
      default -> throw new AssertionError(operator);
    };
  }

  static Object negate(Object value) {
    return switch (value) {
      case Integer a -> -a;
      case Long a -> -a;
      case Float a -> -a;
      case Double a -> -a;
      default -> throw new AssertionError(value);
    };
  }

  static boolean holds(Comparison comparison, Object left, Object right) {
    if (left instanceof Long a && right instanceof Long b) {
      return switch (comparison) {
        case EQUAL -> a.longValue() == b.longValue();
        case NOT_EQUAL -> a.longValue() != b.longValue();
        case LESS -> a < b;
        case LESS_EQUAL -> a <= b;
        case GREATER -> a > b;
        case GREATER_EQUAL -> a >= b;
      };
    }
    // Exact for ints and floats.
    double a = ((Number) left).doubleValue();
    double b = ((Number) right).doubleValue();
    return switch (comparison) {
      case EQUAL -> a == b;
      case NOT_EQUAL -> a != b;
      case LESS -> a < b;
      case LESS_EQUAL -> a <= b;
      case GREATER -> a > b;
      case GREATER_EQUAL -> a >= b;
    };
  }

  static Object convert(Conversion conversion, Object value) {
    return switch (conversion) {
      case I2B -> (int) (byte) (int) value;
      case I2C -> (int) (char) (int) value;
      case I2S -> (int) (short) (int) value;
      case I2L -> (long) (int) value;
      case I2F -> (float) (int) value;
      case I2D -> (double) (int) value;
      case L2I -> (int) (long) value;
      case L2F -> (float) (long) value;
      case L2D -> (double) (long) value;
      case F2I -> (int) (float) value;
      case F2L -> (long) (float) value;
      case F2D -> (double) (float) value;
      case D2I -> (int) (double) value;
      case D2L -> (long) (double) value;
      case D2F -> (float) (double) value;
    };
  }
}
