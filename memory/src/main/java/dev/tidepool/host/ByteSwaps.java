package dev.tidepool.host;

import java.lang.foreign.MemorySegment;

/** Swaps the bytes of elements, through blocks of the heap. */
final class ByteSwaps {
  /** Elements that go through the heap at once. */
  private static final int BLOCK = 2048;

  private ByteSwaps() {}

  /** Swaps {@code count} elements of 2, 4 or 8 bytes; the segments are apart or the same. */
  static void swap(int width, MemorySegment source, MemorySegment target, long count) {
    Primitive type =
        switch (width) {
          case Short.BYTES -> Primitive.SHORT;
          case Integer.BYTES -> Primitive.INT;
          default -> Primitive.LONG;
        };
    Object block = type.newBlock((int) Math.min(BLOCK, count));
    for (long at = 0; at < count; at += BLOCK) {
      int length = (int) Math.min(BLOCK, count - at);
      type.read(source, at, block, length);
      swap(block, length);
      type.write(block, target, at, length);
    }
  }

  private static void swap(Object block, int count) {
    switch (block) {
      case short[] shorts -> {
        for (int i = 0; i < count; i++) {
          shorts[i] = Short.reverseBytes(shorts[i]);
        }
      }
      case int[] ints -> {
        for (int i = 0; i < count; i++) {
          ints[i] = Integer.reverseBytes(ints[i]);
        }
      }
      case long[] longs -> {
        for (int i = 0; i < count; i++) {
          longs[i] = Long.reverseBytes(longs[i]);
        }
      }
      default -> throw new IllegalArgumentException("a block of " + block.getClass());
    }
  }
}
