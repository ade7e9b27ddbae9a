package dev.tidepool.expression.syntax;

import java.math.BigInteger;

/** The raw bits of Python's numbers as elements of arrays, with NumPy's errors. */
public final class ScalarValue {
  private ScalarValue() {}

  /**
   * Returns the bits of {@code value} as one element of {@code type}: integers extended to 64 bits
   * by sign or by zeros, floats as their IEEE bits.
   *
   * @throws ArithmeticException if an integer does not fit, like NumPy's OverflowError
   */
  public static long bits(Object value, ScalarType type) {
    return switch (type) {
      case BOOL -> truth(value) ? 1 : 0;
      case FLOAT32 -> Integer.toUnsignedLong(Float.floatToRawIntBits(toFloat(value)));
      case FLOAT64 -> Double.doubleToRawLongBits(toDouble(value));
      default -> integerBits(toInteger(value), type);
    };
  }

  private static long integerBits(BigInteger value, ScalarType type) {
    if (!fits(value, type)) {
      throw new ArithmeticException(
          "the integer " + abbreviated(value) + " is out of bounds for " + type.numpyName());
    }
    return value.longValue();
  }

  /** Returns whether an integer is in the range of a type of integers. */
  public static boolean fits(BigInteger value, ScalarType type) {
    int width = 8 * type.byteSize();
    return type.isSigned()
        ? value.bitLength() < width
        : value.signum() >= 0 && value.bitLength() <= width;
  }

  public static String abbreviated(BigInteger value) {
    return value.bitLength() > 200 ? "of " + value.bitLength() + " bits" : value.toString();
  }

  public static boolean truth(Object value) {
    return value instanceof Double d ? d != 0 : toInteger(value).signum() != 0;
  }

  public static BigInteger toInteger(Object value) {
    return value instanceof Boolean b ? (b ? BigInteger.ONE : BigInteger.ZERO) : (BigInteger) value;
  }

  public static double toDouble(Object value) {
    return value instanceof Double d ? d : finite(toInteger(value).doubleValue(), value);
  }

  private static float toFloat(Object value) {
    // Converts directly: by way of the integer's nearest double, the value would be rounded twice.
    return value instanceof Double d
        ? d.floatValue()
        : (float) finite(toInteger(value).floatValue(), value);
  }

  private static double finite(double value, Object of) {
    if (Double.isInfinite(value)) {
      throw new ArithmeticException(
          "the integer " + abbreviated(toInteger(of)) + " is too large for a floating type");
    }
    return value;
  }

  /** Returns the form of a caller's scalar that is used in computations. */
  public static Object normalized(Object value) {
    if (value instanceof Boolean || value instanceof BigInteger || value instanceof Double) {
      return value;
    }
    if (value instanceof Float f) {
      return f.doubleValue();
    }
    if (value instanceof Number n) {
      return BigInteger.valueOf(n.longValue());
    }
    throw new IllegalArgumentException(value.getClass().getName() + " is no scalar");
  }
}
