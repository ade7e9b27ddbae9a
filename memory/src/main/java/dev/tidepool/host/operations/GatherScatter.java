package dev.tidepool.host.operations;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import java.lang.foreign.MemorySegment;

/**
 * Moves elements between places that are not adjacent, given by indices or by a stride. Both are
 * converted to a block of offsets for each side, and one loop moves the elements.
 */
public final class GatherScatter {
  private static final int BLOCK = 512;

  /** The offsets of the elements of one side. */
  @FunctionalInterface
  interface Places {
    /** Writes the offsets, in bytes, of {@code count} elements from {@code first} on. */
    void offsets(long first, long[] block, int count);
  }

  private final long[] read;
  private final long[] written;

  /** Creates the blocks for moves of at most {@code count} elements each. Used by one thread. */
  GatherScatter(long count) {
    read = new long[(int) Math.min(BLOCK, count)];
    written = new long[read.length];
  }

  /** Returns the places of elements at equal distances. */
  static Places every(long stride, long offset) {
    return (first, block, count) -> {
      for (int i = 0; i < count; i++) {
        block[i] = offset + (first + i) * stride;
      }
    };
  }

  /** Checks the arguments of a gather, then moves the elements. */
  public static void gather(
      long elementBytes, MemorySegment source, Indices indices, MemorySegment destination) {
    OperandChecks.movable(elementBytes, source, destination);
    long elements = OperandChecks.elements("source", source, elementBytes);
    OperandChecks.fits("destination", destination, indices.count(), elementBytes);
    MemorySegment front = OperandChecks.front(destination, indices.count() * elementBytes);
    OperandChecks.apart(source, front);
    OperandChecks.apart(indices.memory(), front);
    Places gathered = indices.places(elementBytes);
    move(elementBytes, indices, elements, source, gathered, destination, every(elementBytes, 0));
  }

  /** Checks the arguments of a scatter, then moves the elements. */
  public static void scatter(
      long elementBytes, MemorySegment source, Indices indices, MemorySegment destination) {
    OperandChecks.movable(elementBytes, source, destination);
    long elements = OperandChecks.elements("destination", destination, elementBytes);
    if (OperandChecks.elements("source", source, elementBytes) != indices.count()) {
      throw new IllegalArgumentException(
          "%s indices for the %s elements of the source"
              .formatted(indices.count(), source.byteSize() / elementBytes));
    }
    OperandChecks.apart(source, destination);
    OperandChecks.apart(indices.memory(), destination);
    Places scattered = indices.places(elementBytes);
    move(elementBytes, indices, elements, source, every(elementBytes, 0), destination, scattered);
  }

  /** Checks that the indices are less than {@code elements}, then moves the elements. */
  private static void move(
      long elementBytes,
      Indices indices,
      long elements,
      MemorySegment source,
      Places from,
      MemorySegment target,
      Places to) {
    OperandChecks.touching(indices.memory(), indices.memory(), () -> indices.check(elements));
    OperandChecks.touching(
        source,
        target,
        () ->
            new GatherScatter(indices.count())
                .move(elementBytes, source, from, target, to, indices.count()));
  }

  /** Moves {@code count} elements. The caller has made all checks. */
  void move(
      long elementBytes,
      MemorySegment source,
      Places from,
      MemorySegment target,
      Places to,
      long count) {
    for (long at = 0; at < count; at += read.length) {
      int length = (int) Math.min(read.length, count - at);
      from.offsets(at, read, length);
      to.offsets(at, written, length);
      move(elementBytes, source, read, target, written, length);
    }
  }

  private static void move(
      long elementBytes,
      MemorySegment source,
      long[] from,
      MemorySegment target,
      long[] to,
      int count) {
    if (elementBytes == Byte.BYTES) {
      for (int i = 0; i < count; i++) {
        target.set(JAVA_BYTE, to[i], source.get(JAVA_BYTE, from[i]));
      }
    } else if (elementBytes == Short.BYTES) {
      for (int i = 0; i < count; i++) {
        target.set(JAVA_SHORT_UNALIGNED, to[i], source.get(JAVA_SHORT_UNALIGNED, from[i]));
      }
    } else if (elementBytes == Integer.BYTES) {
      for (int i = 0; i < count; i++) {
        target.set(JAVA_INT_UNALIGNED, to[i], source.get(JAVA_INT_UNALIGNED, from[i]));
      }
    } else if (elementBytes == Long.BYTES) {
      for (int i = 0; i < count; i++) {
        target.set(JAVA_LONG_UNALIGNED, to[i], source.get(JAVA_LONG_UNALIGNED, from[i]));
      }
    } else {
      for (int i = 0; i < count; i++) {
        MemorySegment.copy(source, from[i], target, to[i], elementBytes);
      }
    }
  }
}
