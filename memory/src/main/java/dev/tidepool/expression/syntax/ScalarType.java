package dev.tidepool.expression.syntax;

import dev.tidepool.ElementType;
import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/** NumPy's scalar types, as the elements of arrays; float16 is not among them. */
public enum ScalarType {
  /** One byte; anything but zero is true, results are 0 or 1. */
  BOOL(1),
  INT8(1),
  INT16(2),
  INT32(4),
  INT64(8),
  UINT8(1),
  UINT16(2),
  UINT32(4),
  UINT64(8),
  /** IEEE 754 binary32. */
  FLOAT32(4),
  /** IEEE 754 binary64. */
  FLOAT64(8);

  private final int byteSize;

  ScalarType(int byteSize) {
    this.byteSize = byteSize;
  }

  public int byteSize() {
    return byteSize;
  }

  /** Returns whether this is a signed or unsigned integer; a boolean is not. */
  public boolean isInteger() {
    return isSigned() || isUnsigned();
  }

  public boolean isSigned() {
    return this == INT8 || this == INT16 || this == INT32 || this == INT64;
  }

  public boolean isUnsigned() {
    return this == UINT8 || this == UINT16 || this == UINT32 || this == UINT64;
  }

  public boolean isFloating() {
    return this == FLOAT32 || this == FLOAT64;
  }

  /** Returns NumPy's name of the type: {@code float32}, {@code bool}. */
  public String numpyName() {
    return name().toLowerCase(Locale.ROOT);
  }

  /**
   * Returns the type in which kernels compute a buffer's elements.
   *
   * @throws IllegalArgumentException for records, which expressions do not take
   */
  public static ScalarType of(ElementType<?> type) {
    for (ScalarType candidate : values()) {
      if (candidate.elementType().equals(type)) {
        return candidate;
      }
    }
    throw new IllegalArgumentException(
        "expressions compute with numbers and booleans, not with "
            + type
            + "; view the buffer as another type, or write the kernel by hand");
  }

  /** Returns the type of a buffer of such elements. */
  public ElementType<?> elementType() {
    return switch (this) {
      case BOOL -> ElementType.BOOLEAN;
      case INT8 -> ElementType.BYTE;
      case INT16 -> ElementType.SHORT;
      case INT32 -> ElementType.INT;
      case INT64 -> ElementType.LONG;
      case UINT8 -> ElementType.UNSIGNED_BYTE;
      case UINT16 -> ElementType.UNSIGNED_SHORT;
      case UINT32 -> ElementType.UNSIGNED_INT;
      case UINT64 -> ElementType.UNSIGNED_LONG;
      case FLOAT32 -> ElementType.FLOAT;
      case FLOAT64 -> ElementType.DOUBLE;
    };
  }

  /**
   * Returns the type that NumPy calls {@code name}.
   *
   * @throws IllegalArgumentException if there is none; the message lists the names
   */
  public static ScalarType ofNumpyName(String name) {
    for (ScalarType type : values()) {
      if (type.numpyName().equals(name)) {
        return type;
      }
    }
    throw new IllegalArgumentException(
        "unknown type '"
            + name
            + "'; known are "
            + Arrays.stream(values()).map(ScalarType::numpyName).collect(Collectors.joining(", ")));
  }

  /**
   * Returns the type of a result of arrays of both types, as {@code np.promote_types}, but with
   * float32 in place of float16.
   */
  public static ScalarType promote(ScalarType a, ScalarType b) {
    if (a == b || b == BOOL) {
      return a;
    }
    if (a == BOOL) {
      return b;
    }
    if (a.isFloating() || b.isFloating()) {
      return a.floating() == FLOAT64 || b.floating() == FLOAT64 ? FLOAT64 : FLOAT32;
    }
    if (a.isSigned() == b.isSigned()) {
      return a.byteSize >= b.byteSize ? a : b;
    }
    ScalarType signed = a.isSigned() ? a : b;
    ScalarType unsigned = a.isSigned() ? b : a;
    if (signed.byteSize > unsigned.byteSize) {
      return signed;
    }
    return switch (unsigned) {
      case UINT8 -> INT16;
      case UINT16 -> INT32;
      case UINT32 -> INT64;
      default -> FLOAT64;
    };
  }

  /**
   * Returns the floating type in which NumPy computes a function of this type, but with float32 in
   * place of float16.
   */
  public ScalarType floating() {
    return this == FLOAT32 || byteSize < 4 ? FLOAT32 : FLOAT64;
  }

  /**
   * Returns whether NumPy stores a value of this type into an array of {@code to}, by same_kind
   * casting.
   */
  public boolean assignableTo(ScalarType to) {
    if (this == to || this == BOOL) {
      return true;
    }
    if (to == BOOL) {
      return false;
    }
    if (isFloating()) {
      return to.isFloating();
    }
    return to.isFloating() || isUnsigned() || to.isSigned();
  }
}
