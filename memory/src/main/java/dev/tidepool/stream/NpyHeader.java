package dev.tidepool.stream;

import dev.tidepool.UnifiedBuffer;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The header of a {@code .npy} file, which describes its array. Immutable.
 *
 * <p>The format is NumPy's NEP 1, versions 1.0 to 3.0. Written headers are identical to NumPy's,
 * byte for byte.
 *
 * @param version the format's major version: 1, 2 or 3
 * @param type the type of the elements
 * @param byteOrder the byte order of the elements; the platform's order for types of one byte
 * @param fortranOrder whether the first index varies fastest
 * @param shape the lengths of the dimensions; empty for a single value
 * @param dataOffset the bytes before the first element
 */
public record NpyHeader(
    int version,
    NpyType type,
    ByteOrder byteOrder,
    boolean fortranOrder,
    List<Long> shape,
    long dataOffset) {

  /** The bytes at the start of a file that contain the length of the header. */
  static final int PREFIX_BYTES = 12;

  private static final byte[] MAGIC = {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y'};

  /** The first bytes of a zip file, as a little-endian int. */
  private static final int ZIP_MAGIC = 0x04034b50;

  private static final Set<String> KEYS = Set.of("descr", "fortran_order", "shape");
  private static final int ALIGNMENT = 64;
  // Padding with which NumPy can rewrite the growing dimension of a file in place.
  private static final int GROWTH_DIGITS = 21;
  private static final int LONGEST_VERSION_1 = 0xffff;
  // Only structured types, which are not supported, come near it.
  private static final int LONGEST = 1 << 24;

  /**
   * Checks that the array can exist.
   *
   * @throws IllegalArgumentException if a dimension is negative or the bytes exceed 64 bits
   */
  public NpyHeader {
    Objects.requireNonNull(type, "type");
    Objects.requireNonNull(byteOrder, "byteOrder");
    shape = List.copyOf(shape);
    for (long dimension : shape) {
      if (dimension < 0) {
        throw new IllegalArgumentException("shape " + text(shape) + " has a negative dimension");
      }
    }
    if (count(shape, type.byteSize()) < 0) {
      throw new IllegalArgumentException(
          "an array of shape " + text(shape) + " exceeds " + Long.MAX_VALUE + " bytes");
    }
  }

  /**
   * Returns the header that NumPy writes for a new array in the platform's byte order. If both
   * orders are the same, as for a single dimension, the header says C order.
   *
   * @throws IllegalArgumentException if a dimension is negative or the bytes exceed 64 bits
   */
  public static NpyHeader of(NpyType type, boolean fortranOrder, List<Long> shape) {
    boolean onlyFortran = fortranOrder && !isBothOrders(shape);
    NpyHeader draft = new NpyHeader(1, type, ByteOrder.nativeOrder(), onlyFortran, shape, 0);
    byte[] bytes = draft.encode();
    return new NpyHeader(
        bytes[MAGIC.length], type, draft.byteOrder, onlyFortran, draft.shape, bytes.length);
  }

  /** Returns whether C and Fortran order are the same for a shape. */
  static boolean isBothOrders(List<Long> shape) {
    int extended = 0;
    for (long dimension : shape) {
      if (dimension == 0) {
        return true;
      }
      extended += dimension > 1 ? 1 : 0;
    }
    return extended <= 1;
  }

  /**
   * Returns the position of a piece of the array in the file.
   *
   * @param elementOffset the index of the piece's first element
   * @param bytes the bytes of the piece
   * @throws IllegalArgumentException if the bytes are not a whole number of elements
   * @throws IndexOutOfBoundsException if the array has fewer elements
   */
  long position(long elementOffset, long bytes) {
    int width = type.byteSize();
    if (bytes % width != 0) {
      throw new IllegalArgumentException(
          "a segment of "
              + bytes
              + " bytes is no whole number of elements of the file, which are "
              + type.numpyName()
              + " of "
              + width
              + " bytes");
    }
    Objects.checkFromIndexSize(elementOffset, bytes / width, elementCount());
    return dataOffset + elementOffset * width;
  }

  /** Refuses a buffer whose elements are not of the file's type. */
  void checkType(Path path, UnifiedBuffer<?> buffer) {
    if (!buffer.elementType().equals(type.elementType())) {
      throw new IllegalArgumentException(
          path
              + " has elements of "
              + type.elementType()
              + " ("
              + type.numpyName()
              + "), and the buffer is a "
              + buffer
              + "; nothing is converted: allocate the buffer with the elementType() of the file");
    }
  }

  /** Returns the number of elements. */
  public long elementCount() {
    return count(shape, 1);
  }

  /** Returns the bytes of all elements. */
  public long dataBytes() {
    return count(shape, type.byteSize());
  }

  /** Returns the shape as NumPy prints it, such as {@code (3, 4)} or {@code (3,)}. */
  public String shapeText() {
    return text(shape);
  }

  /** Returns the type and the shape, such as {@code float32, 3 x 4}. */
  String arrayText() {
    return type.numpyName()
        + (shape.isEmpty() ? "" : ", ")
        + shape.stream().map(String::valueOf).collect(Collectors.joining(" x "));
  }

  /** Returns the product of the dimensions and {@code unit}; -1 if it exceeds 64 bits. */
  private static long count(List<Long> shape, long unit) {
    if (shape.contains(0L)) {
      return 0;
    }
    long count = unit;
    for (long dimension : shape) {
      if (Math.multiplyHigh(count, dimension) != 0 || count * dimension < 0) {
        return -1;
      }
      count *= dimension;
    }
    return count;
  }

  private static String text(List<Long> shape) {
    StringBuilder text = new StringBuilder("(");
    for (int d = 0; d < shape.size(); d++) {
      text.append(d == 0 ? "" : ", ").append(shape.get(d));
    }
    return text.append(shape.size() == 1 ? ",)" : ")").toString();
  }

  /** Returns the bytes before the first element, identical to NumPy's. */
  byte[] encode() {
    StringBuilder header =
        new StringBuilder("{'descr': '")
            .append(type.descriptor(byteOrder))
            .append("', 'fortran_order': ")
            .append(fortranOrder ? "True" : "False")
            .append(", 'shape': ")
            .append(text(shape))
            .append(", }");
    if (!shape.isEmpty()) {
      long growing = fortranOrder ? shape.get(shape.size() - 1) : shape.get(0);
      header.append(" ".repeat(GROWTH_DIGITS - String.valueOf(growing).length()));
    }
    int lengthBytes = 2;
    int padded = padded(header.length(), lengthBytes);
    if (padded > LONGEST_VERSION_1) {
      lengthBytes = 4;
      padded = padded(header.length(), lengthBytes);
    }
    header.append(" ".repeat(padded - header.length() - 1)).append('\n');
    ByteBuffer bytes =
        ByteBuffer.allocate(MAGIC.length + 2 + lengthBytes + padded)
            .order(ByteOrder.LITTLE_ENDIAN)
            .put(MAGIC)
            .put((byte) (lengthBytes == 2 ? 1 : 2))
            .put((byte) 0);
    if (lengthBytes == 2) {
      bytes.putShort((short) padded);
    } else {
      bytes.putInt(padded);
    }
    return bytes.put(header.toString().getBytes(StandardCharsets.ISO_8859_1)).array();
  }

  /**
   * Returns the length of the text with the padding that aligns the data. As in NumPy, there is at
   * least one byte of padding.
   */
  private static int padded(int length, int lengthBytes) {
    int before = MAGIC.length + 2 + lengthBytes;
    int ending = length + 1;
    return ending + ALIGNMENT - (before + ending) % ALIGNMENT;
  }

  /**
   * Returns the position of the data, from the first {@link #PREFIX_BYTES} bytes of a file, or
   * fewer if the file is shorter.
   */
  static int dataOffset(ByteBuffer start) {
    if (start.remaining() < MAGIC.length + 2) {
      throw new NpyFormatException(
          "it has only " + start.remaining() + " bytes and is no .npy file");
    }
    ByteBuffer bytes = start.slice().order(ByteOrder.LITTLE_ENDIAN);
    if (bytes.getInt(0) == ZIP_MAGIC) {
      throw new NpyFormatException(
          "it is no .npy file but a zip file, as .npz files with several arrays are; unzip it, and"
              + " name the .npy file of one array");
    }
    for (byte expected : MAGIC) {
      if (bytes.get() != expected) {
        throw new NpyFormatException(
            "it is no .npy file: it does not begin with \\x93NUMPY; numpy.save writes one");
      }
    }
    int major = bytes.get();
    int minor = bytes.get();
    if (major < 1 || major > 3 || minor != 0) {
      throw new NpyFormatException(
          "it has the .npy version "
              + (major & 0xff)
              + "."
              + (minor & 0xff)
              + "; versions 1.0, 2.0 and 3.0 are read");
    }
    int lengthBytes = major == 1 ? 2 : 4;
    if (bytes.remaining() < lengthBytes) {
      throw new NpyFormatException("it ends within its header, after " + bytes.limit() + " bytes");
    }
    long length = major == 1 ? bytes.getShort() & 0xffff : bytes.getInt() & 0xffffffffL;
    if (length > LONGEST) {
      throw new NpyFormatException(
          "its header is said to have " + length + " bytes; at most " + LONGEST + " are read");
    }
    return bytes.position() + (int) length;
  }

  /**
   * Parses a header from the first bytes of a file. Bytes after the header are ignored.
   *
   * @throws NpyFormatException if the bytes are not a header, or the array is not supported
   */
  public static NpyHeader parse(byte[] start) {
    int dataOffset = dataOffset(ByteBuffer.wrap(start));
    if (start.length < dataOffset) {
      throw new NpyFormatException(
          "it ends within its header: that takes " + dataOffset + " bytes, it has " + start.length);
    }
    int version = start[MAGIC.length];
    int textOffset = MAGIC.length + 2 + (version == 1 ? 2 : 4);
    ByteBuffer text = ByteBuffer.wrap(start, textOffset, dataOffset - textOffset);
    Object literal = PythonLiteralParser.parse(decode(text, version));
    if (!(literal instanceof Map<?, ?> fields) || !fields.keySet().equals(KEYS)) {
      throw new NpyFormatException(
          "its header must be a dict of exactly 'descr', 'fortran_order' and 'shape'");
    }
    if (!(fields.get("fortran_order") instanceof Boolean fortranOrder)) {
      throw new NpyFormatException("its header's 'fortran_order' is neither True nor False");
    }
    List<Long> shape = parseShape(fields.get("shape"));
    String descriptor = parseDescriptor(fields.get("descr"));
    boolean marked = !descriptor.isEmpty() && "<>|=".indexOf(descriptor.charAt(0)) >= 0;
    NpyType type = NpyType.parse(descriptor, marked ? descriptor.substring(1) : descriptor);
    ByteOrder order = ByteOrder.nativeOrder();
    if (marked && type.byteSize() > 1 && descriptor.charAt(0) == '<') {
      order = ByteOrder.LITTLE_ENDIAN;
    } else if (marked && type.byteSize() > 1 && descriptor.charAt(0) == '>') {
      order = ByteOrder.BIG_ENDIAN;
    }
    try {
      return new NpyHeader(version, type, order, fortranOrder, shape, dataOffset);
    } catch (IllegalArgumentException e) {
      throw new NpyFormatException("its header is impossible: " + e.getMessage(), e);
    }
  }

  private static String decode(ByteBuffer text, int version) {
    Charset charset = version == 3 ? StandardCharsets.UTF_8 : StandardCharsets.ISO_8859_1;
    try {
      CharBuffer decoded = charset.newDecoder().decode(text);
      return decoded.toString();
    } catch (CharacterCodingException e) {
      throw new NpyFormatException("its header of version 3.0 is not UTF-8", e);
    }
  }

  private static List<Long> parseShape(@Nullable Object value) {
    if (!(value instanceof PythonLiteralParser.Tuple(List<Object> dimensions))) {
      throw new NpyFormatException("its header's 'shape' is no tuple of integers");
    }
    List<Long> shape = new ArrayList<>();
    for (Object dimension : dimensions) {
      shape.add(parseDimension(dimension));
    }
    return shape;
  }

  private static Long parseDimension(Object value) {
    if (!(value instanceof BigInteger dimension)) {
      throw new NpyFormatException("its header's 'shape' is no tuple of integers");
    }
    if (dimension.signum() < 0 || dimension.bitLength() > 63) {
      throw new NpyFormatException(
          "its header's 'shape' has the dimension "
              + dimension
              + "; dimensions are from 0 to "
              + Long.MAX_VALUE);
    }
    return dimension.longValue();
  }

  private static String parseDescriptor(@Nullable Object value) {
    if (value instanceof String descriptor) {
      return descriptor;
    }
    if (value instanceof List || value instanceof PythonLiteralParser.Tuple) {
      throw new NpyFormatException(
          "it holds structured records; save one field at a time, supported are "
              + NpyType.SUPPORTED);
    }
    throw new NpyFormatException("its header's 'descr' names no type");
  }
}
