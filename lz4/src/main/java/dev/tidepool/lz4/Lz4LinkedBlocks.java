package dev.tidepool.lz4;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Decodes blocks whose matches reach into earlier blocks, and which therefore have to be decoded in
 * order. At intervals this class keeps the bytes that a next block may reach back to. A reader that
 * goes back, or far ahead, begins there.
 *
 * <p>The codec decodes only independent blocks. So the history is put before the block, as a
 * sequence of its own: its bytes as literals, with the last four of them moved to the front, and a
 * match that copies these four behind the others. The result is four bytes, the history, and the
 * block.
 *
 * <p>Locking: everything is under this object's monitor. It is held while blocks are decoded,
 * because only one thread at a time can decode in order.
 */
final class Lz4LinkedBlocks {
  /** The most places from which blocks are decoded again. */
  private static final int MOST_PLACES = 256;

  private static final long BYTES_BETWEEN = 4L << 20;

  private static final ValueLayout.OfShort OFFSET =
      ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  /** Bytes that the history's sequence copies from its front to its end. */
  private static final int MATCH = 4;

  /** A token, the length of the literals, the history and an offset. */
  private static final int LONGEST_PREFIX = 1 + Lz4Block.WINDOW / 255 + 1 + Lz4Block.WINDOW + 2;

  /**
   * A shorter block has only literals, and the codec refuses a sequence that so few bytes follow.
   */
  private static final int SHORTEST_WITH_MATCH = 6;

  private final Lz4Index index;

  /** By block, the bytes before it. */
  private final TreeMap<Integer, byte[]> places = new TreeMap<>();

  private @Nullable MemorySegment input;
  private @Nullable MemorySegment output;
  private int next;

  /** The bytes before the next block, as many as a match may reach back to; never modified. */
  private byte[] history = {};

  Lz4LinkedBlocks(Lz4Index index) {
    this.index = index;
  }

  /** Decodes a block to the start of a segment; returns its number of bytes. */
  synchronized long decode(int block, MemorySegment target) throws IOException {
    if (input == null || output == null) {
      Arena arena = Arena.ofAuto();
      input = arena.allocate(LONGEST_PREFIX + index.largestBlock(), 64);
      output = arena.allocate(MATCH + Lz4Block.WINDOW + index.largestBlock(), 64);
    }
    moveTo(block);
    while (true) {
      MemorySegment decoded = decodeNext(input, output);
      if (next > block) {
        target.copyFrom(decoded);
        return decoded.byteSize();
      }
    }
  }

  /** Moves to the nearest block, at or before a given one, whose history is known. */
  private void moveTo(int block) {
    int first = index.frame(block).firstBlock();
    Integer place = places.floorKey(block);
    int begin = place == null ? first : Math.max(first, place);
    if (next <= block && next > begin) {
      return; // To continue is shorter.
    }
    next = begin;
    byte[] before = begin == first ? null : places.get(begin);
    history = before == null ? new byte[0] : before;
  }

  private MemorySegment decodeNext(MemorySegment from, MemorySegment to) throws IOException {
    int block = next;
    next = -1; // After a failure, there is no place to continue from.
    MemorySegment decoded;
    try {
      decoded = index.isStored(block) ? index.read(block, to) : decodeCompressed(block, from, to);
    } catch (Lz4FormatException e) {
      throw Lz4Index.damaged(block, e);
    }
    next = block + 1;
    extendHistory(decoded);
    return decoded;
  }

  private MemorySegment decodeCompressed(int block, MemorySegment from, MemorySegment to)
      throws IOException {
    boolean alone = history.length == 0 || index.compressedBytes(block) < SHORTEST_WITH_MATCH;
    long prefix = alone ? 0 : writeHistory(from);
    MemorySegment bytes = index.read(block, from.asSlice(prefix));
    // The four bytes before the history are no part of the data.
    Lz4Block.decodedSize(bytes, alone ? 0 : history.length);
    long before = alone ? 0 : MATCH + Math.max(MATCH, history.length);
    long room = before + index.frame(block).header().blockBytes();
    long size = Lz4Block.decode(from.asSlice(0, prefix + bytes.byteSize()), to.asSlice(0, room));
    return to.asSlice(before, size - before);
  }

  /** Writes the sequence that decodes to the history; returns the length of the sequence. */
  private long writeHistory(MemorySegment to) {
    int missing = Math.max(0, MATCH - history.length);
    int length = missing + history.length;
    long at = 0;
    to.set(JAVA_BYTE, at++, (byte) (Math.min(length, 15) << 4));
    if (length >= 15) {
      int rest = length - 15;
      for (; rest >= 255; rest -= 255) {
        to.set(JAVA_BYTE, at++, (byte) 255);
      }
      to.set(JAVA_BYTE, at++, (byte) rest);
    }
    int last = MATCH - missing;
    to.asSlice(at, missing).fill((byte) 0);
    MemorySegment.copy(history, history.length - last, to, JAVA_BYTE, at + missing, last);
    MemorySegment.copy(history, 0, to, JAVA_BYTE, at + MATCH, history.length - last);
    at += length;
    to.set(OFFSET, at, (short) length);
    return at + OFFSET.byteSize();
  }

  private void extendHistory(MemorySegment decoded) {
    int added = (int) Math.min(Lz4Block.WINDOW, decoded.byteSize());
    int kept = Math.min(Lz4Block.WINDOW - added, history.length);
    byte[] longer = new byte[kept + added];
    System.arraycopy(history, history.length - kept, longer, 0, kept);
    MemorySegment.copy(decoded, JAVA_BYTE, decoded.byteSize() - added, longer, kept, added);
    history = longer;
    if (next < index.blocks() && next % blocksBetween() == 0) {
      places.putIfAbsent(next, longer);
    }
  }

  private int blocksBetween() {
    return (int) Math.max(index.blocks() / MOST_PLACES + 1, BYTES_BETWEEN / index.largestBlock());
  }
}
