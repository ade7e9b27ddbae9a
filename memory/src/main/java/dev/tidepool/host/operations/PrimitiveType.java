package dev.tidepool.host.operations;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import dev.tidepool.ElementType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.Array;

/** The element types that operations can compute with. */
@SuppressWarnings("ImmutableEnumChecker") // element types are immutable
public enum PrimitiveType {
  BYTE(ElementType.BYTE, JAVA_BYTE),
  SHORT(ElementType.SHORT, JAVA_SHORT_UNALIGNED),
  INT(ElementType.INT, JAVA_INT_UNALIGNED),
  LONG(ElementType.LONG, JAVA_LONG_UNALIGNED),
  FLOAT(ElementType.FLOAT, JAVA_FLOAT_UNALIGNED),
  DOUBLE(ElementType.DOUBLE, JAVA_DOUBLE_UNALIGNED),
  BOOLEAN(ElementType.BOOLEAN, JAVA_BYTE);

  private final ElementType<?> type;

  /** The layout of elements in blocks, where booleans are bytes. */
  private final ValueLayout layout;

  private final int bytes;

  PrimitiveType(ElementType<?> type, ValueLayout layout) {
    this.type = type;
    this.layout = layout;
    this.bytes = (int) layout.byteSize();
  }

  /**
   * Returns the primitive for an element type.
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

  /** Returns an array on the heap for this many elements. Booleans are bytes in it. */
  Object newBlock(int elements) {
    return Array.newInstance(layout.carrier(), elements);
  }

  /** Copies elements of a segment, from number {@code first} on, to the front of a block. */
  void read(MemorySegment segment, long first, Object block, int count) {
    MemorySegment.copy(segment, layout, first * bytes, block, 0, count);
  }

  /** Copies the front of a block to elements of a segment, from number {@code first} on. */
  void write(Object block, MemorySegment segment, long first, int count) {
    MemorySegment.copy(block, 0, segment, layout, first * bytes, count);
  }
}
