package dev.tidepool.lz4;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Objects;

/**
 * Makes LZ4 blocks, quickly rather than as small as can be; for one thread at a time.
 *
 * <p>It is the greedy search of LZ4's reference: the last place of each hash of four bytes is
 * remembered, and a place with the same four bytes begins a match. The longer nothing is found, the
 * longer the steps.
 */
public final class Lz4Compressor {
  /** The most bytes that {@link #compress} takes at once. */
  public static final int LARGEST_INPUT = 0x7E00_0000;

  private static final int HASH_BITS = 14;
  private static final int HASH_FACTOR = 0x9E3779B1;
  private static final int SHORTEST_MATCH = 4;

  /** What the format asks of the end of a block: no match begins in the last bytes, or reaches. */
  private static final int NO_MATCH_BEGINS = 12;

  private static final int LAST_LITERALS = 5;
  private static final int LONGEST_IN_TOKEN = 15;

  /** After so many misses steps grow by one. */
  private static final int PATIENCE_BITS = 6;

  private static final ValueLayout.OfLong LITTLE_LONG =
      JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  private final int[] places = new int[1 << HASH_BITS];

  /** The most bytes that compressing so many can give, where nothing repeats. */
  public static long bound(long bytes) {
    return bytes + bytes / 255 + 16;
  }

  /**
   * Compresses a block.
   *
   * @param source at most {@link #LARGEST_INPUT} bytes
   * @param target at least {@link #bound} bytes
   * @return how many bytes of {@code target} the block has
   * @throws IllegalArgumentException if {@code source} is larger
   * @throws IndexOutOfBoundsException if {@code target} is smaller
   */
  public long compress(MemorySegment source, MemorySegment target) {
    long size = source.byteSize();
    if (size > LARGEST_INPUT) {
      throw new IllegalArgumentException(
          "a block of " + size + " bytes; the largest has " + LARGEST_INPUT);
    }
    Objects.checkFromIndexSize(0, bound(size), target.byteSize());
    Arrays.fill(places, -1);
    long out = 0;
    long anchor = 0;
    long at = 0;
    long misses = 1 << PATIENCE_BITS;
    while (at <= size - NO_MATCH_BEGINS - 1) {
      int four = source.get(JAVA_INT_UNALIGNED, at);
      int hash = (four * HASH_FACTOR) >>> (Integer.SIZE - HASH_BITS);
      long place = places[hash];
      places[hash] = (int) at;
      if (place < 0
          || at - place > Lz4Block.WINDOW
          || source.get(JAVA_INT_UNALIGNED, place) != four) {
        at += misses++ >>> PATIENCE_BITS;
        continue;
      }
      misses = 1 << PATIENCE_BITS;
      long match = SHORTEST_MATCH + same(source, place + SHORTEST_MATCH, at + SHORTEST_MATCH);
      out = literals(source, anchor, at - anchor, match - SHORTEST_MATCH, target, out);
      target.set(Lz4Block.OFFSET, out, (short) (at - place));
      out = moreLength(target, out + 2, match - SHORTEST_MATCH);
      at += match;
      anchor = at;
    }
    return literals(source, anchor, size - anchor, 0, target, out);
  }

  /** How many bytes are the same at two places, up to where the last literals begin. */
  private static long same(MemorySegment source, long place, long at) {
    long room = source.byteSize() - LAST_LITERALS - at;
    // By plain access: the source may be a mapped file, and MemorySegment.mismatch is vector code.
    long same = 0;
    for (; same <= room - Long.BYTES; same += Long.BYTES) {
      long difference = source.get(LITTLE_LONG, place + same) ^ source.get(LITTLE_LONG, at + same);
      if (difference != 0) {
        return same + Long.numberOfTrailingZeros(difference) / Byte.SIZE;
      }
    }
    while (same < room && source.get(JAVA_BYTE, place + same) == source.get(JAVA_BYTE, at + same)) {
      same++;
    }
    return same;
  }

  /** Writes a token and literals; answers where the next byte goes. */
  private static long literals(
      MemorySegment source, long from, long count, long match, MemorySegment target, long at) {
    long token = (Math.min(count, LONGEST_IN_TOKEN) << 4) | Math.min(match, LONGEST_IN_TOKEN);
    target.set(JAVA_BYTE, at, (byte) token);
    long out = moreLength(target, at + 1, count);
    MemorySegment.copy(source, from, target, out, count);
    return out + count;
  }

  /** Writes what a length has beyond the token's 15; answers where the next byte goes. */
  private static long moreLength(MemorySegment target, long at, long length) {
    if (length < LONGEST_IN_TOKEN) {
      return at;
    }
    long out = at;
    long rest = length - LONGEST_IN_TOKEN;
    for (; rest >= 255; rest -= 255) {
      target.set(JAVA_BYTE, out++, (byte) 255);
    }
    target.set(JAVA_BYTE, out++, (byte) rest);
    return out;
  }
}
