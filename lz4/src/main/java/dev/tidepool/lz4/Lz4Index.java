package dev.tidepool.lz4;

import dev.tidepool.codec.ByteSource;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;

/**
 * The positions of the blocks of an LZ4 file, and the bytes that each decodes to.
 *
 * <p>The index first reads the positions of the blocks in the file: a few bytes of each block. The
 * file does not say how many bytes a block decodes to, and each may have less than the frame's
 * maximum. A thread that decodes a block reports its size. Other sizes are computed when they are
 * needed, by walking over blocks without decoding them.
 *
 * <p>Locking: this object's monitor guards {@link #known}, {@link #decodedSizes}, {@link
 * #measured}, and {@link #starts} up to {@link #known}. All other state is immutable.
 */
final class Lz4Index {
  private static final ValueLayout.OfInt INT =
      ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  /** A frame, the range of its blocks in the file, and the position of its content checksum. */
  record Frame(Lz4Frame header, int firstBlock, int endBlock, long checksumPosition) {}

  private final ByteSource file;
  private final List<Frame> frames = new ArrayList<>();
  private int blocks;
  private long[] positions = new long[16];
  private int[] sizes = new int[16];
  private int[] frameOf = new int[16];

  /** The offsets of the blocks in the decoded content; a block ends where the next one begins. */
  private final long[] starts;

  private int known;

  /** The decoded sizes of blocks, as far as they were reported; -1 for others. */
  private final int[] decodedSizes;

  private final MemorySegment measured;
  private final int largestBlock;

  /**
   * Reads the positions of the blocks.
   *
   * @throws Lz4FormatException if the file is cut, or damaged in its headers
   */
  Lz4Index(ByteSource file) throws IOException {
    this.file = file;
    long end = file.size();
    for (long at = 0; at < end; ) {
      ByteBuffer start = ByteBuffer.allocate((int) Math.min(Lz4Frame.LONGEST_HEADER, end - at));
      file.read(at, MemorySegment.ofBuffer(start));
      OptionalLong skipped = Lz4Frame.skippableBytes(start);
      if (skipped.isEmpty()) {
        at = readFrame(at, end, Lz4Frame.parse(start));
      } else if (skipped.getAsLong() > end - at) {
        throw new Lz4FormatException("it is cut within a skippable frame");
      } else {
        at += skipped.getAsLong();
      }
    }
    int largest = 0;
    for (Frame frame : frames) {
      largest = Math.max(largest, frame.header().blockBytes());
    }
    this.largestBlock = largest;
    this.starts = new long[blocks + 1];
    this.decodedSizes = new int[blocks];
    Arrays.fill(decodedSizes, -1);
    this.measured = Arena.ofAuto().allocate(largest);
  }

  /** Reads the positions of the blocks of a frame; returns the end of the frame. */
  private long readFrame(long position, long end, Lz4Frame header) throws IOException {
    int first = blocks;
    long at = position + header.headerBytes();
    long behindBlock = header.blockChecksums() ? Integer.BYTES : 0;
    byte[] number = new byte[Integer.BYTES];
    MemorySegment size = MemorySegment.ofArray(number);
    while (true) {
      if (end - at < Integer.BYTES) {
        throw new Lz4FormatException("it is cut before block " + blocks);
      }
      file.read(at, size);
      int stored = size.get(INT, 0);
      at += Integer.BYTES;
      if (stored == 0) {
        break;
      }
      long bytes = stored & Integer.MAX_VALUE;
      if (bytes > header.blockBytes()) {
        throw new Lz4FormatException(
            "block %s is said to have %s bytes, but the blocks of its frame have at most %s"
                .formatted(blocks, bytes, header.blockBytes()));
      }
      if (bytes + behindBlock > end - at) {
        throw new Lz4FormatException(
            "it is cut within block %s: %s of %s bytes are missing"
                .formatted(blocks, bytes + behindBlock - (end - at), bytes + behindBlock));
      }
      add(at, stored);
      at += bytes + behindBlock;
    }
    if (header.contentChecksum() && end - at < Integer.BYTES) {
      throw new Lz4FormatException("it is cut within the checksum behind block " + (blocks - 1));
    }
    frames.add(new Frame(header, first, blocks, at));
    if (header.contentSize().orElse(0) > (long) (blocks - first) * header.blockBytes()) {
      throw new Lz4FormatException(
          "its header says that it decodes to %s bytes, but %s blocks of at most %s hold less"
              .formatted(header.contentSize().getAsLong(), blocks - first, header.blockBytes()));
    }
    return at + (header.contentChecksum() ? Integer.BYTES : 0);
  }

  private void add(long position, int size) {
    if (blocks == positions.length) {
      positions = Arrays.copyOf(positions, 2 * blocks);
      sizes = Arrays.copyOf(sizes, 2 * blocks);
      frameOf = Arrays.copyOf(frameOf, 2 * blocks);
    }
    positions[blocks] = position;
    sizes[blocks] = size;
    frameOf[blocks] = frames.size();
    blocks++;
  }

  int blocks() {
    return blocks;
  }

  /** Returns the most bytes that one block of any frame decodes to. */
  int largestBlock() {
    return largestBlock;
  }

  List<Frame> frames() {
    return frames;
  }

  Frame frame(int block) {
    return frames.get(frameOf[block]);
  }

  /** Returns how many bytes all blocks decode to; the most possible if a frame does not say it. */
  long mostBytes() {
    long bytes = 0;
    for (Frame frame : frames) {
      long most = (long) (frame.endBlock() - frame.firstBlock()) * frame.header().blockBytes();
      bytes += frame.header().contentSize().orElse(most);
    }
    return bytes;
  }

  /** Returns whether a block's bytes are in the file as they are. */
  boolean isStored(int block) {
    return sizes[block] < 0;
  }

  /** Returns how many bytes a block has in the file. */
  int compressedBytes(int block) {
    return sizes[block] & Integer.MAX_VALUE;
  }

  /** Returns whether a block can be decoded and checked without others. */
  boolean isCheckedAlone(int block) {
    Lz4Frame header = frame(block).header();
    return header.independent() && (header.blockChecksums() || !header.contentChecksum());
  }

  /** Reads a block's bytes as they are in the file, and checks their checksum if there is one. */
  MemorySegment read(int block, MemorySegment scratch) throws IOException {
    MemorySegment bytes = scratch.asSlice(0, compressedBytes(block));
    file.read(positions[block], bytes);
    if (frame(block).header().blockChecksums()
        && readInt(positions[block] + bytes.byteSize()) != XxHash32.of(bytes)) {
      throw new Lz4FormatException("its checksum is wrong");
    }
    return bytes;
  }

  /** Returns the checksum of a frame's decoded bytes. */
  int contentChecksum(Frame frame) throws IOException {
    return readInt(frame.checksumPosition());
  }

  private int readInt(long position) throws IOException {
    MemorySegment bytes = MemorySegment.ofArray(new byte[Integer.BYTES]);
    file.read(position, bytes);
    return bytes.get(INT, 0);
  }

  /** Records the decoded size of a block. */
  synchronized void learn(int block, long size) {
    decodedSizes[block] = (int) size;
  }

  /**
   * Returns the next block to decode in order to find the block of a byte, if the byte is near the
   * end of the known blocks; -1 if its block is known or too far away.
   */
  synchronized int nextUnknown(long position, long near) throws IOException {
    while (known < blocks && starts[known] <= position && decodedSizes[known] >= 0) {
      measure();
    }
    boolean unknown = known < blocks && starts[known] <= position;
    return unknown && position - starts[known] < near ? known : -1;
  }

  /** Returns the block that contains a decoded byte; {@link #blocks()} if there are fewer bytes. */
  synchronized int find(long position) throws IOException {
    while (known < blocks && starts[known] <= position) {
      measure();
    }
    int block = Arrays.binarySearch(starts, 0, known + 1, position);
    // A block may be empty: then several begin at the same byte, and the last of them has it.
    while (block >= 0 && block < known && starts[block + 1] == position) {
      block++;
    }
    block = block < 0 ? -block - 2 : block;
    return block < known ? block : blocks;
  }

  /** Returns the offset of a block in the decoded content. */
  synchronized long start(int block) throws IOException {
    while (known < block) {
      measure();
    }
    return starts[block];
  }

  /** Computes the end of the first block whose end is not known. */
  private void measure() throws IOException {
    int block = known;
    Frame frame = frame(block);
    long size = isStored(block) ? compressedBytes(block) : decodedSizes[block];
    if (size < 0) {
      MemorySegment bytes = measured.asSlice(0, compressedBytes(block));
      file.read(positions[block], bytes);
      try {
        size = Lz4Block.decodedSize(bytes, Lz4Block.WINDOW);
      } catch (Lz4FormatException e) {
        throw damaged(block, e);
      }
    }
    if (size > frame.header().blockBytes()) {
      throw new Lz4FormatException(
          "block %s decodes to %s bytes, but the blocks of its frame have at most %s"
              .formatted(block, size, frame.header().blockBytes()));
    }
    starts[block + 1] = starts[block] + size;
    known = block + 1;
    if (known == frame.endBlock()) {
      checkContentSize(frame);
    }
  }

  private void checkContentSize(Frame frame) {
    OptionalLong said = frame.header().contentSize();
    long bytes = starts[frame.endBlock()] - starts[frame.firstBlock()];
    if (said.isPresent() && said.getAsLong() != bytes) {
      known--;
      throw new Lz4FormatException(
          "its header says that it decodes to %s bytes, but its blocks hold %s"
              .formatted(said.getAsLong(), bytes));
    }
  }

  static Lz4FormatException damaged(int block, Lz4FormatException e) {
    return new Lz4FormatException("block " + block + " is damaged: " + e.getMessage(), e);
  }
}
