package dev.tidepool.stream;

import dev.tidepool.ElementType;
import java.nio.ByteOrder;
import java.util.Locale;
import java.util.Map;

/** The supported element types of {@code .npy} files. */
public enum NpyType {
  /** Booleans of one byte. */
  BOOL('b', ElementType.BOOLEAN),
  /** Signed 8-bit integers. */
  INT8('i', ElementType.BYTE),
  /** Signed 16-bit integers. */
  INT16('i', ElementType.SHORT),
  /** Signed 32-bit integers. */
  INT32('i', ElementType.INT),
  /** Signed 64-bit integers. */
  INT64('i', ElementType.LONG),
  /** Unsigned 8-bit integers. */
  UINT8('u', ElementType.UNSIGNED_BYTE),
  /** Unsigned 16-bit integers. */
  UINT16('u', ElementType.UNSIGNED_SHORT),
  /** Unsigned 32-bit integers. */
  UINT32('u', ElementType.UNSIGNED_INT),
  /** Unsigned 64-bit integers. */
  UINT64('u', ElementType.UNSIGNED_LONG),
  /** 32-bit floating point. */
  FLOAT32('f', ElementType.FLOAT),
  /** 64-bit floating point. */
  FLOAT64('f', ElementType.DOUBLE);

  static final String SUPPORTED = "bool, int8 to int64, uint8 to uint64, float32 and float64";

  private static final Map<Character, String> UNSUPPORTED_KINDS =
      Map.of(
          'O', "Python objects",
          'c', "complex numbers",
          'S', "byte strings",
          'a', "byte strings",
          'U', "strings",
          'V', "raw records",
          'M', "dates",
          'm', "time spans",
          'T', "strings");

  private final char kind;

  @SuppressWarnings("ImmutableEnumChecker") // It is immutable, as its Javadoc says.
  private final ElementType<?> elementType;

  NpyType(char kind, ElementType<?> elementType) {
    this.kind = kind;
    this.elementType = elementType;
  }

  /** Returns the element type of buffers for this type, in the platform's byte order. */
  public ElementType<?> elementType() {
    return elementType;
  }

  /** Returns the bytes of one element. */
  public int byteSize() {
    return (int) elementType.byteSize();
  }

  /** Returns NumPy's name of the type, such as {@code float32}. */
  public String numpyName() {
    return name().toLowerCase(Locale.ROOT);
  }

  /**
   * Returns the type of files for an element type.
   *
   * @throws IllegalArgumentException if the elements are records, which files do not support
   */
  public static NpyType of(ElementType<?> elementType) {
    for (NpyType type : values()) {
      if (type.elementType.equals(elementType)) {
        return type;
      }
    }
    throw new IllegalArgumentException(
        ".npy files of " + elementType + " are not written; supported are " + SUPPORTED);
  }

  /** Returns the type as written in a header, such as {@code <f4}. */
  String descriptor(ByteOrder order) {
    char mark = byteSize() == 1 ? '|' : order == ByteOrder.LITTLE_ENDIAN ? '<' : '>';
    return "" + mark + kind + byteSize();
  }

  /**
   * Returns the type of a header's descriptor.
   *
   * @param code the descriptor without its mark for the byte order
   */
  static NpyType parse(String descriptor, String code) {
    char kind = code.isEmpty() ? ' ' : code.charAt(0);
    for (NpyType type : values()) {
      if (code.equals("" + type.kind + type.byteSize())) {
        return type;
      }
    }
    String holds = UNSUPPORTED_KINDS.get(kind);
    if (holds == null) {
      holds =
          kind == 'f' && code.matches("f\\d{1,3}")
              ? "floats of " + code.substring(1) + " bytes"
              : "an unknown type";
    }
    throw new NpyFormatException(
        "it holds "
            + holds
            + " ("
            + PythonLiteralParser.quoted(descriptor)
            + "); supported are "
            + SUPPORTED);
  }
}
