package dev.tidepool.stream;

import dev.tidepool.lz4.Lz4Block;
import dev.tidepool.lz4.Lz4FormatException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Decodes blocks whose matches reach into those before them, so that they have to be decoded in
 * order. Every now and then the bytes that a next block may reach back to are kept; who goes back,
 * or far ahead, begins there.
 *
 * <p>Locking: everything is under this object's monitor, held while blocks are decoded, for that is
 * what takes turns.
 */
final class Lz4LinkedBlocks {
  /** Blocks are decoded anew from at most so many places. */
  private static final int MOST_PLACES = 256;

  private static final long BYTES_BETWEEN = 4L << 20;

  private final Lz4Index index;

  /** By block, what the bytes before it are. */
  private final TreeMap<Integer, byte[]> places = new TreeMap<>();

  private @Nullable MemorySegment room;
  private @Nullable MemorySegment scratch;
  private int next;

  /** How many bytes stand before the next block in {@link #room}, which end at the window. */
  private long history;

  Lz4LinkedBlocks(Lz4Index index) {
    this.index = index;
  }

  /** Decodes a block to the front of a segment; answers how many bytes it has. */
  synchronized long decode(int block, MemorySegment target) throws IOException {
    if (room == null || scratch == null) {
      room = Arena.ofAuto().allocate(Lz4Block.WINDOW + index.largestBlock(), 64);
      scratch = Arena.ofAuto().allocate(index.largestBlock(), 64);
    }
    moveTo(block, room);
    while (true) {
      long size = decodeNext(room, scratch);
      if (next > block) {
        MemorySegment.copy(room, Lz4Block.WINDOW, target, 0, size);
        slide(room, size);
        return size;
      }
      slide(room, size);
    }
  }

  /** Continues at the nearest block at or before one whose history is known. */
  private void moveTo(int block, MemorySegment window) {
    int first = index.frame(block).firstBlock();
    Integer place = places.floorKey(block);
    int begin = place == null ? first : Math.max(first, place);
    if (next <= block && next > begin) {
      return; // It is nearer to go on.
    }
    next = begin;
    history = 0;
    byte[] before = begin == first ? null : places.get(begin);
    if (before != null) {
      history = before.length;
      MemorySegment.copy(
          MemorySegment.ofArray(before), 0, window, Lz4Block.WINDOW - history, history);
    }
  }

  private long decodeNext(MemorySegment window, MemorySegment compressed) throws IOException {
    int block = next;
    next = -1; // A failure leaves no place to go on from.
    MemorySegment target =
        window.asSlice(0, Lz4Block.WINDOW + index.frame(block).header().blockBytes());
    long size;
    try {
      MemorySegment bytes = index.read(block, compressed);
      if (index.isStored(block)) {
        size = bytes.byteSize();
        MemorySegment.copy(bytes, 0, target, Lz4Block.WINDOW, size);
      } else {
        size = Lz4Block.decode(bytes, target, Lz4Block.WINDOW, history, target.byteSize());
      }
    } catch (Lz4FormatException e) {
      throw Lz4Index.damaged(block, e);
    }
    next = block + 1;
    return size;
  }

  /** Moves the end of what was decoded in front of where the next block goes. */
  private void slide(MemorySegment window, long decoded) {
    history = Math.min(Lz4Block.WINDOW, history + decoded);
    MemorySegment.copy(
        window, Lz4Block.WINDOW + decoded - history, window, Lz4Block.WINDOW - history, history);
    if (next < index.blocks() && next % blocksBetween() == 0 && !places.containsKey(next)) {
      byte[] before = new byte[(int) history];
      MemorySegment.copy(
          window, Lz4Block.WINDOW - history, MemorySegment.ofArray(before), 0, history);
      places.put(next, before);
    }
  }

  private int blocksBetween() {
    return (int) Math.max(index.blocks() / MOST_PLACES + 1, BYTES_BETWEEN / index.largestBlock());
  }
}
