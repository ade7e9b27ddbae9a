package dev.tidepool.expression.math;

import dev.tidepool.expression.syntax.Op;

/**
 * The functions of the language on doubles, one element at a time; within 2 ulp.
 *
 * <p>Generated loops call a function by its {@link Op#functionName}, so each method has the name of
 * its {@link Op} in sources. {@link #apply(Op, double)} and {@link #apply(Op, double, double)}
 * compute constants. They need a case for each operation of the shape {@link Op.Shape#FUNCTION}.
 */
public final class DoubleFunctions {
  private static final double INVERSE_LN2 = 1.4426950408889634;

  /** The difference between 1/ln 2 and its nearest double. */
  private static final double INVERSE_LN2_REST = 2.0355273740931033e-17;

  private DoubleFunctions() {}

  public static double apply(Op op, double x) {
    return switch (op) {
      case CBRT -> cbrt(x);
      case EXP -> exp(x);
      case EXP2 -> exp2(x);
      case EXPM1 -> expm1(x);
      case LOG -> log(x);
      case LOG2 -> log2(x);
      case LOG10 -> log10(x);
      case LOG1P -> log1p(x);
      case SIN -> sin(x);
      case COS -> cos(x);
      case TAN -> tan(x);
      case ASIN -> asin(x);
      case ACOS -> acos(x);
      case ATAN -> atan(x);
      case SINH -> sinh(x);
      case COSH -> cosh(x);
      case TANH -> tanh(x);
      default -> throw new AssertionError(op);
    };
  }

  public static double apply(Op op, double x, double y) {
    return switch (op) {
      case ATAN2 -> atan2(x, y);
      case POW -> pow(x, y);
      case HYPOT -> hypot(x, y);
      default -> throw new AssertionError(op);
    };
  }

  public static double cbrt(double x) {
    return Math.cbrt(x);
  }

  public static double exp(double x) {
    return Math.exp(x);
  }

  public static double exp2(double x) {
    return Math.pow(2, x);
  }

  public static double expm1(double x) {
    return Math.expm1(x);
  }

  public static double log(double x) {
    return Math.log(x);
  }

  /**
   * Returns the logarithm. It is exact for powers of two; otherwise the logarithm of the mantissa
   * is scaled in two parts.
   */
  public static double log2(double x) {
    if (!(x > 0) || x == Double.POSITIVE_INFINITY) {
      return Math.log(x);
    }
    double normal = x < Double.MIN_NORMAL ? x * 0x1p54 : x;
    int exponent = Math.getExponent(normal);
    double mantissa = Math.scalb(normal, -exponent);
    if (mantissa > 1.4142135623730951) {
      mantissa *= 0.5;
      exponent++;
    }
    double log = Math.log(mantissa);
    double high = log * INVERSE_LN2;
    double low = Math.fma(log, INVERSE_LN2, -high) + log * INVERSE_LN2_REST;
    return exponent - (x < Double.MIN_NORMAL ? 54 : 0) + high + low;
  }

  public static double log10(double x) {
    return Math.log10(x);
  }

  public static double log1p(double x) {
    return Math.log1p(x);
  }

  public static double sin(double x) {
    return Math.sin(x);
  }

  public static double cos(double x) {
    return Math.cos(x);
  }

  public static double tan(double x) {
    return Math.tan(x);
  }

  public static double asin(double x) {
    return Math.asin(x);
  }

  public static double acos(double x) {
    return Math.acos(x);
  }

  public static double atan(double x) {
    return Math.atan(x);
  }

  public static double sinh(double x) {
    return Math.sinh(x);
  }

  public static double cosh(double x) {
    return Math.cosh(x);
  }

  public static double tanh(double x) {
    return Math.tanh(x);
  }

  public static double atan2(double x, double y) {
    return Math.atan2(x, y);
  }

  /**
   * Returns the power as C and NumPy define it: 1 to any power and -1 to an infinite power are 1.
   */
  public static double pow(double x, double y) {
    if (x == 1 || (x == -1 && Double.isInfinite(y))) {
      return 1;
    }
    return Math.pow(x, y);
  }

  public static double hypot(double x, double y) {
    return Math.hypot(x, y);
  }
}
