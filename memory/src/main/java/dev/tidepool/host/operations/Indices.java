package dev.tidepool.host.operations;

import dev.tidepool.ElementType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Indices of elements, in an array or in memory.
 *
 * @param memory the memory of the indices
 * @param count the number of indices
 * @param reader copies a range of indices to a block
 */
public record Indices(MemorySegment memory, long count, Reader reader) {
  private static final int BLOCK = 512;

  /** Copies {@code count} indices, from {@code first} on, to the front of a block. */
  @FunctionalInterface
  interface Reader {
    void read(long first, long[] block, int count);
  }

  public static Indices of(int[] indices) {
    return new Indices(
        MemorySegment.ofArray(indices),
        indices.length,
        (first, block, count) -> {
          for (int i = 0; i < count; i++) {
            block[i] = indices[(int) first + i];
          }
        });
  }

  public static Indices of(long[] indices) {
    return new Indices(
        MemorySegment.ofArray(indices),
        indices.length,
        (first, block, count) -> System.arraycopy(indices, (int) first, block, 0, count));
  }

  public static Indices of(ElementType<?> type, MemorySegment indices) {
    OperandChecks.readable("segment of indices", indices);
    long count = OperandChecks.elements("segment of indices", indices, type.byteSize());
    if (type.equals(ElementType.LONG)) {
      return new Indices(
          indices,
          count,
          (first, block, length) ->
              MemorySegment.copy(
                  indices, ValueLayout.JAVA_LONG_UNALIGNED, first * Long.BYTES, block, 0, length));
    }
    if (type.equals(ElementType.INT)) {
      return new Indices(
          indices,
          count,
          (first, block, length) -> {
            for (int i = 0; i < length; i++) {
              block[i] = indices.get(ValueLayout.JAVA_INT_UNALIGNED, (first + i) * Integer.BYTES);
            }
          });
    }
    throw new IllegalArgumentException("indices are " + type + " elements, but can be INT or LONG");
  }

  /** Returns the places of the indexed elements. */
  GatherScatter.Places places(long elementBytes) {
    return (first, block, length) -> {
      reader.read(first, block, length);
      for (int i = 0; i < length; i++) {
        block[i] *= elementBytes;
      }
    };
  }

  /** Checks that every index is from 0 to {@code elements} - 1. */
  void check(long elements) {
    long[] block = new long[(int) Math.min(BLOCK, count)];
    for (long at = 0; at < count; at += block.length) {
      int length = (int) Math.min(block.length, count - at);
      reader.read(at, block, length);
      for (int i = 0; i < length; i++) {
        if (block[i] < 0 || block[i] >= elements) {
          throw new IndexOutOfBoundsException(
              "index %s, at position %s, is not one of %s elements"
                  .formatted(block[i], at + i, elements));
        }
      }
    }
  }
}
