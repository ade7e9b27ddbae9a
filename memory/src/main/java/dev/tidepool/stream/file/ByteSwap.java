package dev.tidepool.stream.file;

import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import java.lang.foreign.MemorySegment;

/**
 * Turns the byte order of elements in place, through arrays that fit the first cache: loops over
 * arrays become vector instructions, loops over segments do not.
 */
public final class ByteSwap {
  private static final int BLOCK_BYTES = 8 << 10;

  private ByteSwap() {}

  /** Swaps elements of {@code width} bytes: 1, 2, 4 or 8. */
  public static void swap(MemorySegment segment, int width) {
    switch (width) {
      case 1 -> {}
      case 2 -> swapShorts(segment);
      case 4 -> swapInts(segment);
      case 8 -> swapLongs(segment);
      default -> throw new IllegalArgumentException("elements of " + width + " bytes");
    }
  }

  private static void swapShorts(MemorySegment segment) {
    short[] block = new short[BLOCK_BYTES / Short.BYTES];
    for (long at = 0; at < segment.byteSize(); at += BLOCK_BYTES) {
      int count = (int) Math.min(BLOCK_BYTES, segment.byteSize() - at) / Short.BYTES;
      MemorySegment.copy(segment, JAVA_SHORT_UNALIGNED, at, block, 0, count);
      for (int i = 0; i < block.length; i++) {
        block[i] = Short.reverseBytes(block[i]);
      }
      MemorySegment.copy(block, 0, segment, JAVA_SHORT_UNALIGNED, at, count);
    }
  }

  private static void swapInts(MemorySegment segment) {
    int[] block = new int[BLOCK_BYTES / Integer.BYTES];
    for (long at = 0; at < segment.byteSize(); at += BLOCK_BYTES) {
      int count = (int) Math.min(BLOCK_BYTES, segment.byteSize() - at) / Integer.BYTES;
      MemorySegment.copy(segment, JAVA_INT_UNALIGNED, at, block, 0, count);
      for (int i = 0; i < block.length; i++) {
        block[i] = Integer.reverseBytes(block[i]);
      }
      MemorySegment.copy(block, 0, segment, JAVA_INT_UNALIGNED, at, count);
    }
  }

  private static void swapLongs(MemorySegment segment) {
    long[] block = new long[BLOCK_BYTES / Long.BYTES];
    for (long at = 0; at < segment.byteSize(); at += BLOCK_BYTES) {
      int count = (int) Math.min(BLOCK_BYTES, segment.byteSize() - at) / Long.BYTES;
      MemorySegment.copy(segment, JAVA_LONG_UNALIGNED, at, block, 0, count);
      for (int i = 0; i < block.length; i++) {
        block[i] = Long.reverseBytes(block[i]);
      }
      MemorySegment.copy(block, 0, segment, JAVA_LONG_UNALIGNED, at, count);
    }
  }
}
