package dev.tidepool.spi;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import dev.tidepool.ElementType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;

/** Converts values to the bytes of a kernel's parameter of a given type. */
public final class ScalarBytes {
  private ScalarBytes() {}

  /**
   * Converts a value as Java's casts do. A boolean becomes 0 or 1, and every number except 0
   * becomes true.
   *
   * @param allocator allocates the bytes, aligned for the type
   * @throws IllegalArgumentException if the value is neither a number nor a boolean, or the type is
   *     a struct
   */
  public static MemorySegment of(Object value, ElementType<?> type, SegmentAllocator allocator) {
    Class<?> carrier = type.arrayClass();
    if (carrier == boolean[].class) {
      boolean truth = value instanceof Boolean given ? given : number(value).doubleValue() != 0;
      return allocator.allocateFrom(JAVA_BYTE, (byte) (truth ? 1 : 0));
    }
    Number number = number(value);
    if (carrier == byte[].class) {
      return allocator.allocateFrom(JAVA_BYTE, number.byteValue());
    } else if (carrier == short[].class) {
      return allocator.allocateFrom(JAVA_SHORT, number.shortValue());
    } else if (carrier == int[].class) {
      return allocator.allocateFrom(JAVA_INT, number.intValue());
    } else if (carrier == long[].class) {
      return allocator.allocateFrom(JAVA_LONG, number.longValue());
    } else if (carrier == float[].class) {
      return allocator.allocateFrom(JAVA_FLOAT, number.floatValue());
    } else if (carrier == double[].class) {
      return allocator.allocateFrom(JAVA_DOUBLE, number.doubleValue());
    }
    throw new IllegalArgumentException("a value of type " + type + " cannot be passed");
  }

  private static Number number(Object value) {
    return switch (value) {
      case Number number -> number;
      case Boolean truth -> truth ? 1 : 0;
      default ->
          throw new IllegalArgumentException(
              value + " is neither a number nor a boolean, and no other value can be passed");
    };
  }
}
