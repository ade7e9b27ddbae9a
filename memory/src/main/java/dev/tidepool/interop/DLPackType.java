package dev.tidepool.interop;

import dev.tidepool.ElementType;

/**
 * The type of a tensor's elements: DLPack's {@code DLDataType}.
 *
 * @param code the meaning of the bits: one of the constants of this class, or a newer code
 * @param bits the bits of one lane
 * @param lanes the values in one element; 1 unless the elements are short vectors
 */
public record DLPackType(int code, int bits, int lanes) {
  /** Signed integers. */
  public static final int INT = 0;

  /** Unsigned integers. */
  public static final int UINT = 1;

  /** IEEE 754 floating point. */
  public static final int FLOAT = 2;

  /** Brain floating point, of 16 bits. */
  public static final int BFLOAT = 4;

  /** Complex numbers; the bits are those of both parts together. */
  public static final int COMPLEX = 5;

  /** Booleans. */
  public static final int BOOL = 6;

  /**
   * Returns DLPack's type for the elements of a buffer.
   *
   * @throws IllegalArgumentException if the elements are records
   */
  public static DLPackType of(ElementType<?> type) {
    if (type.isStruct()) {
      throw new IllegalArgumentException(
          "DLPack has no type for " + type + "; export the bytes, by buffer.as(ElementType.BYTE)");
    }
    return new DLPackType(code(type), (int) type.byteSize() * 8, 1);
  }

  private static int code(ElementType<?> type) {
    if (type.equals(ElementType.FLOAT) || type.equals(ElementType.DOUBLE)) {
      return FLOAT;
    }
    if (type.equals(ElementType.BOOLEAN)) {
      return BOOL;
    }
    return type.isUnsigned() ? UINT : INT;
  }

  /** Returns the bytes of one element with all its lanes. */
  long byteSize() {
    return (long) bits * lanes / 8;
  }

  /**
   * Returns the element type of a buffer for this type. Elements without a Java type, such as half
   * floats, are signed integers of the same width with the same bits.
   *
   * @throws UnsupportedOperationException if an element does not have 1, 2, 4 or 8 bytes, or a lane
   *     is not a whole number of bytes
   */
  public ElementType<?> elementType() {
    if (bits % 8 != 0) {
      throw new UnsupportedOperationException(
          "elements of type "
              + this
              + " are parts of bytes, which buffers do not have; convert the tensor to bytes where"
              + " it comes from");
    }
    if (code == BOOL && bits == 8 && lanes == 1) {
      return ElementType.BOOLEAN;
    }
    if (code == FLOAT && lanes == 1 && bits == 32) {
      return ElementType.FLOAT;
    }
    if (code == FLOAT && lanes == 1 && bits == 64) {
      return ElementType.DOUBLE;
    }
    boolean unsigned = code == UINT && lanes == 1;
    return switch (bits * lanes) {
      case 8 -> unsigned ? ElementType.UNSIGNED_BYTE : ElementType.BYTE;
      case 16 -> unsigned ? ElementType.UNSIGNED_SHORT : ElementType.SHORT;
      case 32 -> unsigned ? ElementType.UNSIGNED_INT : ElementType.INT;
      case 64 -> unsigned ? ElementType.UNSIGNED_LONG : ElementType.LONG;
      default ->
          throw new UnsupportedOperationException(
              "elements of type "
                  + this
                  + " have "
                  + bits * lanes
                  + " bits, and buffers have elements of 8, 16, 32 or 64; convert the tensor where"
                  + " it comes from");
    };
  }

  /** Returns the type in NumPy's notation, such as {@code float32}. */
  @Override
  public String toString() {
    String kind =
        switch (code) {
          case INT -> "int";
          case UINT -> "uint";
          case FLOAT -> "float";
          case BFLOAT -> "bfloat";
          case COMPLEX -> "complex";
          case BOOL -> "bool";
          default -> "code " + code + ", bits ";
        };
    return kind + bits + (lanes == 1 ? "" : "x" + lanes);
  }
}
