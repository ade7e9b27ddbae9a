package dev.tidepool.host;

import dev.tidepool.ElementType;
import java.lang.foreign.MemorySegment;

/** The element types that operations compute with. */
@SuppressWarnings("ImmutableEnumChecker") // element types are immutable
enum Primitive {
  BYTE(ElementType.BYTE, ElementType.BYTE),
  SHORT(ElementType.SHORT, ElementType.SHORT),
  INT(ElementType.INT, ElementType.INT),
  LONG(ElementType.LONG, ElementType.LONG),
  FLOAT(ElementType.FLOAT, ElementType.FLOAT),
  DOUBLE(ElementType.DOUBLE, ElementType.DOUBLE),
  BOOLEAN(ElementType.BOOLEAN, ElementType.BYTE);

  private final ElementType<?> type;

  /** What blocks of the heap hold: arrays of booleans can't be copied in bulk. */
  private final ElementType<?> carrier;

  Primitive(ElementType<?> type, ElementType<?> carrier) {
    this.type = type;
    this.carrier = carrier;
  }

  /**
   * The primitive that is {@code type}.
   *
   * @throws IllegalArgumentException if it is a struct or an unsigned type
   */
  static Primitive of(ElementType<?> type) {
    for (Primitive primitive : values()) {
      if (primitive.type.equals(type)) {
        return primitive;
      }
    }
    throw new IllegalArgumentException(
        type
            + " elements can't be computed with here: use one of the signed primitives or BOOLEAN");
  }

  int bytes() {
    return (int) type.byteSize();
  }

  boolean isFloating() {
    return this == FLOAT || this == DOUBLE;
  }

  /** The class of one element, such as {@code float.class}. */
  Class<?> elementClass() {
    return type.arrayClass().componentType();
  }

  Object newBlock(int elements) {
    return carrier.newArray(elements);
  }

  /** Copies elements, counted from the segment's start, to the front of a block. */
  void read(MemorySegment segment, long first, Object block, int count) {
    read(carrier, segment, first * bytes(), block, count);
  }

  /** Copies the front of a block to elements, counted from the segment's start. */
  void write(Object block, MemorySegment segment, long first, int count) {
    write(carrier, block, segment, first * bytes(), count);
  }

  private static <A> void read(
      ElementType<A> type, MemorySegment segment, long offset, Object block, int count) {
    type.read(segment, offset, type.arrayClass().cast(block), 0, count);
  }

  private static <A> void write(
      ElementType<A> type, Object block, MemorySegment segment, long offset, int count) {
    type.write(type.arrayClass().cast(block), 0, segment, offset, count);
  }
}
