package dev.tidepool.expression.types;

import dev.tidepool.expression.math.DoubleFunctions;
import dev.tidepool.expression.math.ElementMath;
import dev.tidepool.expression.syntax.Op;
import dev.tidepool.expression.syntax.ScalarKind;
import dev.tidepool.expression.syntax.ScalarValue;
import java.math.BigInteger;
import java.util.Collections;
import java.util.List;

/** Computes with scalars as Python does: integers of any size, doubles, and booleans as NumPy's. */
final class WeakArithmetic {
  /** Longer integers fit no array and would take too much memory. */
  private static final int MAX_BITS = 1 << 14;

  private WeakArithmetic() {}

  /** Returns the kind of a result, whatever the values. */
  static ScalarKind kind(Op op, List<ScalarKind> args) {
    if (op.isComparison() || op.isLogical()) {
      return ScalarKind.BOOL;
    }
    List<ScalarKind> values = op == Op.SELECT ? args.subList(1, 3) : args;
    ScalarKind joined = Collections.max(values);
    return switch (op) {
      case DIVIDE, RINT, FMA -> ScalarKind.FLOAT;
      case POW, FLOOR_DIVIDE, REMAINDER, SHIFT_LEFT, SHIFT_RIGHT ->
          joined == ScalarKind.BOOL ? ScalarKind.INT : joined;
      default -> op.shape == Op.Shape.FUNCTION || op == Op.SQRT ? ScalarKind.FLOAT : joined;
    };
  }

  /** Returns the value of {@code op}; arguments are booleans, integers of any size, or doubles. */
  static Object compute(Op op, List<Object> args) {
    List<ScalarKind> kinds = args.stream().map(ScalarKind::of).toList();
    if (op == Op.SELECT) {
      return select(args, kind(op, kinds));
    }
    if (op.isLogical()) {
      boolean first = ScalarValue.truth(args.getFirst());
      return switch (op) {
        case NOT -> !first;
        case LOGICAL_AND -> first && ScalarValue.truth(args.get(1));
        default -> first || ScalarValue.truth(args.get(1));
      };
    }
    if (op.isComparison()) {
      return compare(op, args.get(0), args.get(1), Collections.max(kinds));
    }
    return switch (kind(op, kinds)) {
      case BOOL -> booleans(op, args);
      case INT -> bounded(integers(op, args.stream().map(ScalarValue::toInteger).toList()));
      case FLOAT -> doubles(op, args.stream().mapToDouble(ScalarValue::toDouble).toArray());
    };
  }

  private static Object select(List<Object> args, ScalarKind kind) {
    Object chosen = ScalarValue.truth(args.get(0)) ? args.get(1) : args.get(2);
    return switch (kind) {
      case BOOL -> chosen;
      case INT -> ScalarValue.toInteger(chosen);
      case FLOAT -> ScalarValue.toDouble(chosen);
    };
  }

  private static boolean compare(Op op, Object a, Object b, ScalarKind kind) {
    if (kind == ScalarKind.FLOAT) {
      double x = ScalarValue.toDouble(a);
      double y = ScalarValue.toDouble(b);
      return switch (op) {
        case LESS -> x < y;
        case LESS_EQUAL -> x <= y;
        case GREATER -> x > y;
        case GREATER_EQUAL -> x >= y;
        case EQUAL -> x == y;
        default -> x != y;
      };
    }
    int order = ScalarValue.toInteger(a).compareTo(ScalarValue.toInteger(b));
    return switch (op) {
      case LESS -> order < 0;
      case LESS_EQUAL -> order <= 0;
      case GREATER -> order > 0;
      case GREATER_EQUAL -> order >= 0;
      case EQUAL -> order == 0;
      default -> order != 0;
    };
  }

  private static Object booleans(Op op, List<Object> args) {
    boolean a = (Boolean) args.getFirst();
    boolean b = (Boolean) args.getLast();
    return switch (op) {
      case ADD, BIT_OR, MAX -> a || b;
      case MULTIPLY, BIT_AND, MIN -> a && b;
      case BIT_XOR -> a ^ b;
      case INVERT -> !a;
      default -> a;
    };
  }

  private static BigInteger integers(Op op, List<BigInteger> args) {
    BigInteger a = args.getFirst();
    BigInteger b = args.getLast();
    return switch (op) {
      case ADD -> a.add(b);
      case SUBTRACT -> a.subtract(b);
      case MULTIPLY -> a.multiply(b);
      case NEGATE -> a.negate();
      case INVERT -> a.not();
      case ABS -> a.abs();
      case MIN -> a.min(b);
      case MAX -> a.max(b);
      case BIT_AND -> a.and(b);
      case BIT_OR -> a.or(b);
      case BIT_XOR -> a.xor(b);
      case FLOOR_DIVIDE -> a.subtract(floorMod(a, b)).divide(b);
      case REMAINDER -> floorMod(a, b);
      case SHIFT_LEFT -> a.shiftLeft(count(b, "a shift"));
      case SHIFT_RIGHT -> a.shiftRight(count(b, "a shift"));
      case POW -> power(a, b);
      default -> a;
    };
  }

  private static BigInteger power(BigInteger a, BigInteger b) {
    if (a.abs().compareTo(BigInteger.ONE) <= 0 && b.signum() >= 0) {
      boolean keeps = b.signum() > 0 && (a.signum() >= 0 || b.testBit(0));
      return keeps ? a : BigInteger.ONE;
    }
    int exponent = count(b, "an integer to a power");
    if ((long) a.bitLength() * exponent > 2L * MAX_BITS) {
      throw tooLarge();
    }
    return a.pow(exponent);
  }

  private static BigInteger floorMod(BigInteger a, BigInteger b) {
    if (b.signum() == 0) {
      throw new ArithmeticException(
          "division of the scalar " + ScalarValue.abbreviated(a) + " by zero");
    }
    BigInteger remainder = a.mod(b.abs());
    return b.signum() < 0 && remainder.signum() != 0 ? remainder.add(b) : remainder;
  }

  private static int count(BigInteger value, String what) {
    if (value.signum() < 0) {
      throw new ArithmeticException(
          what + " of " + ScalarValue.abbreviated(value) + " is not an integer; use a float");
    }
    if (value.bitLength() > 15) {
      throw tooLarge();
    }
    return value.intValue();
  }

  private static BigInteger bounded(BigInteger value) {
    if (value.bitLength() > MAX_BITS) {
      throw tooLarge();
    }
    return value;
  }

  private static ArithmeticException tooLarge() {
    return new ArithmeticException("an integer of more than " + MAX_BITS + " bits");
  }

  private static double doubles(Op op, double[] args) {
    double a = args[0];
    double b = args[args.length - 1];
    return switch (op) {
      case ADD -> a + b;
      case SUBTRACT -> a - b;
      case MULTIPLY -> a * b;
      case DIVIDE -> a / b;
      case FLOOR_DIVIDE -> ElementMath.floorDivide(a, b);
      case REMAINDER -> ElementMath.remainder(a, b);
      case NEGATE -> -a;
      case ABS -> Math.abs(a);
      case MIN -> Math.min(a, b);
      case MAX -> Math.max(a, b);
      case FLOOR -> Math.floor(a);
      case CEIL -> Math.ceil(a);
      case RINT -> Math.rint(a);
      case SQRT -> Math.sqrt(a);
      case FMA -> Math.fma(a, args[1], b);
      default -> args.length == 1 ? DoubleFunctions.apply(op, a) : DoubleFunctions.apply(op, a, b);
    };
  }
}
