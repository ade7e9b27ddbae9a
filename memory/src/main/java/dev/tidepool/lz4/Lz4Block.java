package dev.tidepool.lz4;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.Objects;

/**
 * Decodes raw LZ4 blocks, after the <i>LZ4 Block Format Description</i>.
 *
 * <p>A block is a list of sequences: a token with two lengths of four bits, more bytes of a length
 * that is 15, literal bytes, an offset of two bytes back into what is decoded, and the length of
 * the match that is copied from there. The last sequence ends after its literals.
 *
 * <p>All lengths are checked against what is left of the block and of the room before anything is
 * copied. Thread-safe: there is no state.
 */
public final class Lz4Block {
  /** How far back a match may reach, in bytes. */
  public static final int WINDOW = 65_535;

  static final ValueLayout.OfShort OFFSET =
      ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final int LONGEST_IN_TOKEN = 15;
  private static final int SHORTEST_MATCH = 4;

  /** From here on a copy by the runtime beats a loop. */
  private static final int LONG_COPY = 64;

  private Lz4Block() {}

  /**
   * Decodes a block.
   *
   * @param block its compressed bytes and nothing else
   * @param target where the bytes go; those before {@code from} may be what a match reaches back to
   * @param from where the first byte goes
   * @param history how many bytes before {@code from} belong to the data; 0 for an independent
   *     block
   * @param limit where the room ends; bytes between the end of the data and here are undefined
   * @return how many bytes were decoded
   * @throws Lz4FormatException if the block is damaged, or has more bytes than there is room for
   * @throws IndexOutOfBoundsException if {@code target} has no such places
   */
  public static long decode(
      MemorySegment block, MemorySegment target, long from, long history, long limit) {
    Objects.checkFromToIndex(from, limit, target.byteSize());
    Objects.checkFromIndexSize(from - history, history, from);
    return walk(block, target, from, history, limit, true);
  }

  /**
   * How many bytes a block decodes to, found without decoding it: in a fraction of the time.
   *
   * @param block its compressed bytes and nothing else
   * @throws Lz4FormatException if the block is cut; how far back matches reach is not looked at
   */
  public static long decodedSize(MemorySegment block) {
    return walk(block, block, 0, WINDOW, Long.MAX_VALUE, false);
  }

  private static long walk(
      MemorySegment block,
      MemorySegment target,
      long from,
      long history,
      long limit,
      boolean copies) {
    long end = block.byteSize();
    long in = 0;
    long out = from;
    while (true) {
      if (in >= end) {
        throw cut(in, "where a sequence should begin");
      }
      long token = block.get(JAVA_BYTE, in++) & 0xffL;
      long literals = token >>> 4;
      if (literals == LONGEST_IN_TOKEN) {
        long more = moreLength(block, in);
        in += bytesOfLength(more);
        literals += more;
      }
      if (literals > end - in) {
        throw cut(end, "within " + literals + " literal bytes");
      }
      if (literals > limit - out) {
        throw full(in, out - from + literals, limit - from);
      }
      if (copies) {
        copyLiterals(block, in, target, out, literals, limit);
      }
      in += literals;
      out += literals;
      if (in == end) {
        return out - from;
      }
      if (end - in < 2) {
        throw cut(in, "within an offset");
      }
      int offset = block.get(OFFSET, in) & 0xffff;
      in += 2;
      if (offset == 0 || offset > out - from + history) {
        throw new Lz4FormatException(
            "a match at its byte %d reaches back %d bytes, where %d are decoded"
                .formatted(in - 2, offset, out - from + history));
      }
      long match = token & LONGEST_IN_TOKEN;
      if (match == LONGEST_IN_TOKEN) {
        long more = moreLength(block, in);
        in += bytesOfLength(more);
        match += more;
      }
      match += SHORTEST_MATCH;
      if (match > limit - out) {
        throw full(in, out - from + match, limit - from);
      }
      if (copies) {
        copyMatch(target, out, offset, match, limit);
      }
      out += match;
    }
  }

  /** What the bytes after a token add to a length: as many as are 255, and one that is not. */
  private static long moreLength(MemorySegment block, long from) {
    long sum = 0;
    for (long in = from; in < block.byteSize(); in++) {
      int more = block.get(JAVA_BYTE, in) & 0xff;
      sum += more;
      if (more != 255) {
        return sum;
      }
    }
    throw cut(block.byteSize(), "within a length");
  }

  private static long bytesOfLength(long more) {
    return more / 255 + 1;
  }

  /** Eight bytes at a time, up to seven beyond the end where both sides have them. */
  private static void copyLiterals(
      MemorySegment from, long source, MemorySegment to, long target, long count, long limit) {
    long rounded = (count + 7) & ~7L;
    if (count < LONG_COPY && rounded <= from.byteSize() - source && rounded <= limit - target) {
      for (long i = 0; i < count; i += 8) {
        to.set(JAVA_LONG_UNALIGNED, target + i, from.get(JAVA_LONG_UNALIGNED, source + i));
      }
    } else {
      MemorySegment.copy(from, source, to, target, count);
    }
  }

  /** Copies what may overlap its own source: a match at the offset 1 repeats a byte. */
  private static void copyMatch(
      MemorySegment bytes, long target, int offset, long count, long limit) {
    if (offset >= count && count >= LONG_COPY) {
      MemorySegment.copy(bytes, target - offset, bytes, target, count);
      return;
    }
    long end = target + count;
    long at = target;
    long source = target - offset;
    if (offset < 8) {
      // After one period of at least eight bytes, eight at a time read only what is written.
      int period = (8 + offset - 1) / offset * offset;
      long slow = Math.min(end, target - offset + period);
      for (; at < slow; at++) {
        bytes.set(JAVA_BYTE, at, bytes.get(JAVA_BYTE, at - offset));
      }
      source = at - period;
    }
    long fast = Math.min(end, limit - 7);
    for (; at < fast; at += 8, source += 8) {
      bytes.set(JAVA_LONG_UNALIGNED, at, bytes.get(JAVA_LONG_UNALIGNED, source));
    }
    for (; at < end; at++, source++) {
      bytes.set(JAVA_BYTE, at, bytes.get(JAVA_BYTE, source));
    }
  }

  private static Lz4FormatException cut(long at, String where) {
    return new Lz4FormatException("it is cut at its byte " + at + ", " + where);
  }

  private static Lz4FormatException full(long at, long bytes, long room) {
    return new Lz4FormatException(
        "it decodes to "
            + bytes
            + " bytes or more at its byte "
            + at
            + ", but has room for "
            + room);
  }
}
