package dev.tidepool.expression.math;

import dev.tidepool.expression.syntax.Op;

/**
 * The functions of the language on floats, for one element at a time. They are computed in double
 * and rounded once, so that they are nearly always correctly rounded. Generated loops call a
 * function by its {@link Op#functionName}, so each method has the name of its {@link Op} in
 * sources.
 */
public final class FloatFunctions {
  private FloatFunctions() {}

  public static float cbrt(float x) {
    return (float) DoubleFunctions.cbrt(x);
  }

  public static float exp(float x) {
    return (float) DoubleFunctions.exp(x);
  }

  public static float exp2(float x) {
    return (float) DoubleFunctions.exp2(x);
  }

  public static float expm1(float x) {
    return (float) DoubleFunctions.expm1(x);
  }

  public static float log(float x) {
    return (float) DoubleFunctions.log(x);
  }

  public static float log2(float x) {
    return (float) DoubleFunctions.log2(x);
  }

  public static float log10(float x) {
    return (float) DoubleFunctions.log10(x);
  }

  public static float log1p(float x) {
    return (float) DoubleFunctions.log1p(x);
  }

  public static float sin(float x) {
    return (float) DoubleFunctions.sin(x);
  }

  public static float cos(float x) {
    return (float) DoubleFunctions.cos(x);
  }

  public static float tan(float x) {
    return (float) DoubleFunctions.tan(x);
  }

  public static float asin(float x) {
    return (float) DoubleFunctions.asin(x);
  }

  public static float acos(float x) {
    return (float) DoubleFunctions.acos(x);
  }

  public static float atan(float x) {
    return (float) DoubleFunctions.atan(x);
  }

  public static float sinh(float x) {
    return (float) DoubleFunctions.sinh(x);
  }

  public static float cosh(float x) {
    return (float) DoubleFunctions.cosh(x);
  }

  public static float tanh(float x) {
    return (float) DoubleFunctions.tanh(x);
  }

  public static float atan2(float x, float y) {
    return (float) DoubleFunctions.atan2(x, y);
  }

  public static float pow(float x, float y) {
    return (float) DoubleFunctions.pow(x, y);
  }

  /** A double holds the squares of all floats. */
  public static float hypot(float x, float y) {
    if (Float.isInfinite(x) || Float.isInfinite(y)) {
      return Float.POSITIVE_INFINITY;
    }
    return (float) Math.sqrt((double) x * x + (double) y * y);
  }
}
