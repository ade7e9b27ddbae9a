package dev.tidepool.expression.syntax;

import java.math.BigInteger;

/**
 * The kind of a scalar before it is combined with an array. As in Python, a scalar has a kind but
 * no width: it takes the type of the array (NEP 50).
 */
public enum ScalarKind {
  /** True or false. */
  BOOL,
  /** A whole number of any size. */
  INT,
  /** A double. */
  FLOAT;

  /**
   * Returns the kind of a Java value.
   *
   * @throws IllegalArgumentException if {@code value} is neither a {@link Boolean} nor a boxed
   *     number nor a {@link BigInteger}
   */
  public static ScalarKind of(Object value) {
    if (value instanceof Boolean) {
      return BOOL;
    }
    if (value instanceof Float || value instanceof Double) {
      return FLOAT;
    }
    if (value instanceof Byte
        || value instanceof Short
        || value instanceof Integer
        || value instanceof Long
        || value instanceof BigInteger) {
      return INT;
    }
    throw new IllegalArgumentException(
        "a "
            + value.getClass().getName()
            + " is no scalar; use a Boolean, a boxed number or a BigInteger");
  }

  /** Returns the type of an array made of scalars of this kind alone. */
  public ScalarType defaultType() {
    return switch (this) {
      case BOOL -> ScalarType.BOOL;
      case INT -> ScalarType.INT64;
      case FLOAT -> ScalarType.FLOAT64;
    };
  }

  /** Returns the type in which a scalar of this kind and an array of {@code type} are combined. */
  public ScalarType with(ScalarType type) {
    return switch (this) {
      case BOOL -> type;
      case INT -> type == ScalarType.BOOL ? ScalarType.INT64 : type;
      case FLOAT -> type.isFloating() ? type : ScalarType.FLOAT64;
    };
  }
}
