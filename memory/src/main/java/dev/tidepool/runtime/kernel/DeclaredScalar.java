package dev.tidepool.runtime.kernel;

import dev.tidepool.ElementType;
import dev.tidepool.KernelParameter;
import java.math.BigDecimal;
import java.math.BigInteger;
import org.jspecify.annotations.Nullable;

/**
 * Converts the value of a scalar parameter that a hand-written kernel declares to the declared
 * type. {@link KernelParameter#scalar} has the rules.
 */
final class DeclaredScalar {
  private DeclaredScalar() {}

  /**
   * Converts a value. Integers become a {@code Long}, or a {@code BigInteger} if that is too short;
   * floating-point numbers a {@code Float} or {@code Double}; truth values a {@code Boolean}.
   *
   * @param kernel the name of the kernel in messages
   * @throws IllegalArgumentException if the declared type cannot hold the value
   */
  static Object of(String kernel, KernelParameter parameter, Object value) {
    ElementType<?> type = parameter.type();
    Object converted = converted(type, value);
    if (converted == null) {
      throw new IllegalArgumentException(
          "argument '"
              + parameter.name()
              + "' of "
              + kernel
              + " is "
              + shown(value)
              + " ("
              + value.getClass().getSimpleName()
              + "), which a scalar of type "
              + type
              + " cannot hold; "
              + advice(type, value));
    }
    return converted;
  }

  /** Omits the digits of huge integers: computing them would take longer than all other steps. */
  private static String shown(Object value) {
    return value instanceof BigInteger integer && integer.bitLength() > 4 * Long.SIZE
        ? "an integer of " + integer.bitLength() + " bits"
        : value.toString();
  }

  private static String advice(ElementType<?> type, Object value) {
    Class<?> carrier = type.arrayClass();
    if (type.isStruct()) {
      return "pass an array of one";
    }
    if (carrier == boolean[].class) {
      return "pass true or false";
    }
    if (carrier == float[].class || carrier == double[].class) {
      return isInteger(value)
          ? "pass a double if it may be rounded, or declare it LONG"
          : "declare it DOUBLE";
    }
    return "pass an integer from " + least(type) + " to " + most(type);
  }

  private static @Nullable Object converted(ElementType<?> type, Object value) {
    Class<?> carrier = type.arrayClass();
    if (type.isStruct()) {
      return null;
    }
    if (carrier == boolean[].class) {
      return truth(value);
    }
    if (carrier == float[].class || carrier == double[].class) {
      return floating(value, carrier == float[].class);
    }
    if (!type.isUnsigned() && value.getClass() == boxOf(carrier)) {
      // The usual case, at each launch: the value has the declared type.
      return ((Number) value).longValue();
    }
    BigInteger integer = integer(value);
    if (integer == null) {
      return null;
    }
    if (type.isUnsigned() && integer.signum() < 0 && value.getClass() == boxOf(carrier)) {
      // As in an array of this type, the bits are those of an unsigned number.
      integer = integer.add(most(type)).add(BigInteger.ONE);
    }
    boolean fits = integer.compareTo(least(type)) >= 0 && integer.compareTo(most(type)) <= 0;
    if (!fits) {
      return null;
    }
    return integer.bitLength() < Long.SIZE ? (Object) integer.longValue() : integer;
  }

  private static @Nullable Object truth(Object value) {
    if (value instanceof Boolean) {
      return value;
    }
    BigInteger integer = integer(value);
    if (integer == null || integer.signum() < 0 || integer.bitLength() > 1) {
      return null;
    }
    return integer.signum() != 0;
  }

  private static @Nullable Object floating(Object value, boolean single) {
    boolean isInteger = isInteger(value);
    double wide = isInteger ? integerOf(value).doubleValue() : ((Number) value).doubleValue();
    double rounded = single ? (float) wide : wide;
    if (isInteger) {
      boolean exact =
          Double.isFinite(rounded)
              && new BigDecimal(rounded).compareTo(new BigDecimal(integerOf(value))) == 0;
      if (!exact) {
        return null;
      }
    } else if (Double.isInfinite(rounded) && !isInfinite(value)) {
      return null;
    }
    return single ? (Object) (float) rounded : (Object) rounded;
  }

  private static boolean isInteger(Object value) {
    return value instanceof Byte
        || value instanceof Short
        || value instanceof Integer
        || value instanceof Long
        || value instanceof BigInteger
        || value instanceof Boolean;
  }

  private static boolean isInfinite(Object value) {
    return !(value instanceof BigDecimal) && Double.isInfinite(((Number) value).doubleValue());
  }

  private static BigInteger integerOf(Object value) {
    BigInteger integer = integer(value);
    if (integer == null) {
      throw new AssertionError(value + " is an integer");
    }
    return integer;
  }

  /** Returns the value as an integer; null if it is not an integer. */
  private static @Nullable BigInteger integer(Object value) {
    return switch (value) {
      case Boolean truth -> truth ? BigInteger.ONE : BigInteger.ZERO;
      case BigInteger integer -> integer;
      case BigDecimal decimal ->
          decimal.precision() - (long) decimal.scale() <= 64
                  && decimal.stripTrailingZeros().scale() <= 0
              ? decimal.toBigInteger()
              : null;
      case Float _, Double _ -> {
        double wide = ((Number) value).doubleValue();
        yield Double.isFinite(wide) && wide == Math.rint(wide)
            ? new BigDecimal(wide).toBigInteger()
            : null;
      }
      case Number number ->
          number.doubleValue() == number.longValue() || number instanceof Long
              ? BigInteger.valueOf(number.longValue())
              : null;
      default -> null;
    };
  }

  private static Class<?> boxOf(Class<?> carrier) {
    if (carrier == byte[].class) {
      return Byte.class;
    }
    if (carrier == short[].class) {
      return Short.class;
    }
    return carrier == int[].class ? Integer.class : Long.class;
  }

  private static int bits(ElementType<?> type) {
    return (int) type.byteSize() * Byte.SIZE;
  }

  private static BigInteger least(ElementType<?> type) {
    return type.isUnsigned() ? BigInteger.ZERO : BigInteger.ONE.shiftLeft(bits(type) - 1).negate();
  }

  private static BigInteger most(ElementType<?> type) {
    int bits = type.isUnsigned() ? bits(type) : bits(type) - 1;
    return BigInteger.ONE.shiftLeft(bits).subtract(BigInteger.ONE);
  }
}
