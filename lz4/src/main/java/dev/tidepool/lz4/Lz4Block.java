package dev.tidepool.lz4;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.airlift.compress.v3.MalformedInputException;
import io.airlift.compress.v3.lz4.Lz4Decompressor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/**
 * Raw LZ4 blocks, as in the <i>LZ4 Block Format Description</i>: aircompressor decodes them, and
 * this class measures them without decoding.
 *
 * <p>A block is a list of sequences. A sequence has a token with two lengths of four bits, more
 * bytes for a length that is 15, literal bytes, an offset of two bytes back into the decoded bytes,
 * and the length of the match that is copied from there. The last sequence ends after its literals.
 *
 * <p>Thread-safe: there is no state.
 */
final class Lz4Block {
  /** How many bytes back a match may reach. */
  static final int WINDOW = 65_535;

  /** The most decoded bytes for each byte of a block: 255 for a byte of a length. */
  static final int MOST_EXPANSION = 255;

  private static final ValueLayout.OfShort OFFSET =
      ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final int LONGEST_IN_TOKEN = 15;
  private static final int SHORTEST_MATCH = 4;

  /** The message about a check that only the decoders make. */
  private static final String NOT_ENDED =
      "its last match is nearer to its end than the format allows";

  /** The C library if aircompressor includes it for the platform, else its Java code. */
  private static final Lz4Decompressor DECODER = Lz4Decompressor.create();

  private Lz4Block() {}

  /**
   * Decodes an independent block.
   *
   * @param block its compressed bytes and nothing else
   * @param room receives the bytes; the bytes after them are undefined then. Like {@code block} it
   *     is this module's own memory, native or a byte array: the decoder's accesses are not
   *     checked, so the memory must not be released meanwhile
   * @return how many bytes were decoded
   * @throws Lz4FormatException if the block is damaged, or decodes to more bytes than there is room
   *     for
   */
  static long decode(MemorySegment block, MemorySegment room) {
    return decode(DECODER, block, room);
  }

  /**
   * Like {@link #decode(MemorySegment, MemorySegment)}, with a given decoder. The block is measured
   * first: some decoders copy undefined bytes for a match of the offset 0, and this check of each
   * length does not depend on the decoder's checks.
   */
  static long decode(Lz4Decompressor decoder, MemorySegment block, MemorySegment room) {
    long size = decodedSize(block, 0);
    if (size > room.byteSize()) {
      throw new Lz4FormatException(
          "it decodes to " + size + " bytes, but has room for " + room.byteSize());
    }
    try {
      if (decoder.decompress(block, room) == size) {
        return size;
      }
    } catch (MalformedInputException | IllegalArgumentException e) {
      throw new Lz4FormatException(NOT_ENDED, e);
    }
    throw new Lz4FormatException(NOT_ENDED);
  }

  /**
   * Returns how many bytes a block decodes to, without decoding it and in a fraction of the time.
   *
   * @param block its compressed bytes and nothing else
   * @param history how many bytes before the block its matches may reach back to
   * @throws Lz4FormatException if the block is cut, or a match reaches back further
   */
  static long decodedSize(MemorySegment block, long history) {
    long end = block.byteSize();
    long in = 0;
    long out = 0;
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
      in += literals;
      out += literals;
      if (in == end) {
        return out;
      }
      if (end - in < 2) {
        throw cut(in, "within an offset");
      }
      int offset = block.get(OFFSET, in) & 0xffff;
      in += 2;
      if (offset == 0 || offset > out + history) {
        throw new Lz4FormatException(
            "a match at its byte %s reaches back %s bytes, where %s are decoded"
                    .formatted(in - 2, offset, out + history)
                + "; or it was made with a dictionary, which is not supported");
      }
      long match = token & LONGEST_IN_TOKEN;
      if (match == LONGEST_IN_TOKEN) {
        long more = moreLength(block, in);
        in += bytesOfLength(more);
        match += more;
      }
      out += match + SHORTEST_MATCH;
    }
  }

  /**
   * Returns what the bytes after a token add to a length: any number of bytes that are 255, and one
   * that is not.
   */
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

  private static Lz4FormatException cut(long at, String where) {
    return new Lz4FormatException("it is cut at its byte " + at + ", " + where);
  }
}
