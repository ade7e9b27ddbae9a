package dev.tidepool.host.operations;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import dev.tidepool.ElementType;
import java.lang.foreign.MemorySegment;

/** The element types that operations compute with. */
@SuppressWarnings("ImmutableEnumChecker") // element types are immutable
public enum PrimitiveType {
  BYTE(ElementType.BYTE),
  SHORT(ElementType.SHORT),
  INT(ElementType.INT),
  LONG(ElementType.LONG),
  FLOAT(ElementType.FLOAT),
  DOUBLE(ElementType.DOUBLE),
  BOOLEAN(ElementType.BOOLEAN);

  private final ElementType<?> type;

  private final int bytes;

  PrimitiveType(ElementType<?> type) {
    this.type = type;
    this.bytes = (int) type.byteSize();
  }

  /**
   * The primitive that is {@code type}.
   *
   * @throws IllegalArgumentException if it is a struct or an unsigned type
   */
  public static PrimitiveType of(ElementType<?> type) {
    for (PrimitiveType primitive : values()) {
      if (primitive.type.equals(type)) {
        return primitive;
      }
    }
    throw new IllegalArgumentException(
        type
            + " elements can't be computed with here: use one of the signed primitives or BOOLEAN");
  }

  int bytes() {
    return bytes;
  }

  boolean isFloating() {
    return this == FLOAT || this == DOUBLE;
  }

  /** An array of the heap for so many elements; booleans are bytes in it. */
  Object newBlock(int elements) {
    return switch (this) {
      case BYTE, BOOLEAN -> new byte[elements];
      case SHORT -> new short[elements];
      case INT -> new int[elements];
      case LONG -> new long[elements];
      case FLOAT -> new float[elements];
      case DOUBLE -> new double[elements];
    };
  }

  /** Copies elements, counted from the segment's start, to the front of a block. */
  void read(MemorySegment segment, long first, Object block, int count) {
    long offset = first * bytes;
    switch (block) {
      case byte[] array -> MemorySegment.copy(segment, JAVA_BYTE, offset, array, 0, count);
      case short[] array ->
          MemorySegment.copy(segment, JAVA_SHORT_UNALIGNED, offset, array, 0, count);
      case int[] array -> MemorySegment.copy(segment, JAVA_INT_UNALIGNED, offset, array, 0, count);
      case long[] array ->
          MemorySegment.copy(segment, JAVA_LONG_UNALIGNED, offset, array, 0, count);
      case float[] array ->
          MemorySegment.copy(segment, JAVA_FLOAT_UNALIGNED, offset, array, 0, count);
      case double[] array ->
          MemorySegment.copy(segment, JAVA_DOUBLE_UNALIGNED, offset, array, 0, count);
      default -> throw new IllegalArgumentException("a block of " + block.getClass());
    }
  }

  /** Copies the front of a block to elements, counted from the segment's start. */
  void write(Object block, MemorySegment segment, long first, int count) {
    long offset = first * bytes;
    switch (block) {
      case byte[] array -> MemorySegment.copy(array, 0, segment, JAVA_BYTE, offset, count);
      case short[] array ->
          MemorySegment.copy(array, 0, segment, JAVA_SHORT_UNALIGNED, offset, count);
      case int[] array -> MemorySegment.copy(array, 0, segment, JAVA_INT_UNALIGNED, offset, count);
      case long[] array ->
          MemorySegment.copy(array, 0, segment, JAVA_LONG_UNALIGNED, offset, count);
      case float[] array ->
          MemorySegment.copy(array, 0, segment, JAVA_FLOAT_UNALIGNED, offset, count);
      case double[] array ->
          MemorySegment.copy(array, 0, segment, JAVA_DOUBLE_UNALIGNED, offset, count);
      default -> throw new IllegalArgumentException("a block of " + block.getClass());
    }
  }
}
