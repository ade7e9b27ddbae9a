package dev.tidepool.stream.reduction;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import dev.tidepool.expression.syntax.ScalarType;
import java.lang.foreign.MemorySegment;

/**
 * Some neighbouring elements as doubles or as longs: loops over arrays that fit the first cache
 * become vector instructions, loops over segments do not. Not thread-safe.
 */
final class ElementBatch {
  static final int LENGTH = 1024;

  private final ScalarType type;
  private final double[] doubles = new double[LENGTH];
  private final long[] longs = new long[LENGTH];
  private final float[] floats = new float[LENGTH];
  private final int[] ints = new int[LENGTH];
  private final short[] shorts = new short[LENGTH];
  private final byte[] bytes = new byte[LENGTH];

  ElementBatch(ScalarType type) {
    this.type = type;
  }

  /**
   * Returns the {@code count} elements from {@code at} on as doubles, zeros after them; valid until
   * the next call.
   */
  double[] doubles(MemorySegment elements, long at, int count) {
    switch (type) {
      case FLOAT64 ->
          MemorySegment.copy(elements, JAVA_DOUBLE_UNALIGNED, at * Double.BYTES, doubles, 0, count);
      case FLOAT32 -> {
        MemorySegment.copy(elements, JAVA_FLOAT_UNALIGNED, at * Float.BYTES, floats, 0, count);
        for (int i = 0; i < count; i++) {
          doubles[i] = floats[i];
        }
      }
      default -> {
        longs(elements, at, count);
        for (int i = 0; i < count; i++) {
          doubles[i] = longs[i];
        }
        if (type == ScalarType.UINT64) {
          widenUnsigned(count);
        }
      }
    }
    for (int i = count; i < LENGTH; i++) {
      doubles[i] = 0;
    }
    return doubles;
  }

  private void widenUnsigned(int count) {
    for (int i = 0; i < count; i++) {
      if (longs[i] < 0) {
        // Half of it, with the lost bit kept, so that doubling does not round twice.
        doubles[i] = 2.0 * ((longs[i] >>> 1) | (longs[i] & 1));
      }
    }
  }

  /**
   * Returns the {@code count} integers or truth values from {@code at} on, extended to 64 bits by
   * sign or by zeros; valid until the next call.
   */
  long[] longs(MemorySegment elements, long at, int count) {
    long offset = at * type.byteSize();
    switch (type.byteSize()) {
      case Byte.BYTES -> MemorySegment.copy(elements, JAVA_BYTE, offset, bytes, 0, count);
      case Short.BYTES ->
          MemorySegment.copy(elements, JAVA_SHORT_UNALIGNED, offset, shorts, 0, count);
      case Integer.BYTES ->
          MemorySegment.copy(elements, JAVA_INT_UNALIGNED, offset, ints, 0, count);
      default -> MemorySegment.copy(elements, JAVA_LONG_UNALIGNED, offset, longs, 0, count);
    }
    for (int i = 0; i < count; i++) {
      longs[i] =
          switch (type) {
            case BOOL -> bytes[i] == 0 ? 0 : 1;
            case INT8 -> bytes[i];
            case UINT8 -> Byte.toUnsignedLong(bytes[i]);
            case INT16 -> shorts[i];
            case UINT16 -> Short.toUnsignedLong(shorts[i]);
            case INT32 -> ints[i];
            case UINT32 -> Integer.toUnsignedLong(ints[i]);
            case INT64, UINT64 -> longs[i];
            case FLOAT32, FLOAT64 -> throw new AssertionError(type);
          };
    }
    return longs;
  }
}
