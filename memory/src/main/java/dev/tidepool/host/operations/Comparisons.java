package dev.tidepool.host.operations;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import dev.tidepool.host.system.OwnMemory;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/** Finds the first difference of two segments and compares there. */
public final class Comparisons {
  private static final int BLOCK = 8192;

  private Comparisons() {}

  /** Returns the offset of the first byte that differs or that only one side has; -1 if equal. */
  public static long mismatch(MemorySegment left, MemorySegment right) {
    if (isThere(left) && isThere(right)) {
      return left.mismatch(right);
    }
    // The virtual machine's own comparison uses vector instructions, which may end the process.
    long both = Math.min(left.byteSize(), right.byteSize());
    byte[] l = new byte[(int) Math.min(BLOCK, both)];
    byte[] r = new byte[l.length];
    for (long at = 0; at < both; at += l.length) {
      int length = (int) Math.min(l.length, both - at);
      MemorySegment.copy(left, JAVA_BYTE, at, l, 0, length);
      MemorySegment.copy(right, JAVA_BYTE, at, r, 0, length);
      int difference = Arrays.mismatch(l, 0, length, r, 0, length);
      if (difference >= 0) {
        return at + difference;
      }
    }
    return left.byteSize() == right.byteSize() ? -1 : both;
  }

  /** Returns whether the bytes cannot vanish. */
  private static boolean isThere(MemorySegment segment) {
    return !segment.isNative() || OwnMemory.contains(segment);
  }

  /** Compares like {@code memcmp}. The front of a segment is less than the segment. */
  public static int compare(MemorySegment left, MemorySegment right) {
    long at = mismatch(left, right);
    if (at < 0) {
      return 0;
    }
    return at == Math.min(left.byteSize(), right.byteSize())
        ? Long.compare(left.byteSize(), right.byteSize())
        : Integer.compare(left.get(JAVA_BYTE, at) & 0xff, right.get(JAVA_BYTE, at) & 0xff);
  }

  /** Compares by the first element whose order differs, then by length. */
  public static int compare(PrimitiveType type, MemorySegment left, MemorySegment right) {
    long both = Math.min(left.byteSize(), right.byteSize());
    long at = 0;
    while (at < both) {
      long difference = mismatch(left.asSlice(at, both - at), right.asSlice(at, both - at));
      if (difference < 0) {
        break;
      }
      at += difference - difference % type.bytes();
      int order = compareElements(type, left, right, at);
      if (order != 0) {
        return order;
      }
      // Different bytes of equal values, such as NaNs.
      at += type.bytes();
    }
    return Long.compare(left.byteSize(), right.byteSize());
  }

  private static int compareElements(
      PrimitiveType type, MemorySegment left, MemorySegment right, long at) {
    return switch (type) {
      case BYTE -> Byte.compare(left.get(JAVA_BYTE, at), right.get(JAVA_BYTE, at));
      case BOOLEAN -> Boolean.compare(left.get(JAVA_BYTE, at) != 0, right.get(JAVA_BYTE, at) != 0);
      case SHORT ->
          Short.compare(left.get(JAVA_SHORT_UNALIGNED, at), right.get(JAVA_SHORT_UNALIGNED, at));
      case INT ->
          Integer.compare(left.get(JAVA_INT_UNALIGNED, at), right.get(JAVA_INT_UNALIGNED, at));
      case LONG ->
          Long.compare(left.get(JAVA_LONG_UNALIGNED, at), right.get(JAVA_LONG_UNALIGNED, at));
      case FLOAT ->
          Float.compare(left.get(JAVA_FLOAT_UNALIGNED, at), right.get(JAVA_FLOAT_UNALIGNED, at));
      case DOUBLE ->
          Double.compare(left.get(JAVA_DOUBLE_UNALIGNED, at), right.get(JAVA_DOUBLE_UNALIGNED, at));
    };
  }
}
