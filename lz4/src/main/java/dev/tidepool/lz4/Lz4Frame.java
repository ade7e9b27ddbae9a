package dev.tidepool.lz4;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.OptionalLong;

/**
 * The header of an LZ4 frame, as in the <i>LZ4 Frame Format Description</i>.
 *
 * @param independent whether each block can be decoded without those before it
 * @param blockChecksums whether each block is followed by the checksum of its bytes in the file
 * @param contentChecksum whether the frame ends with the checksum of its decoded bytes
 * @param contentSize the number of its decoded bytes, if the header has it
 * @param blockBytes the most bytes that one block decodes to: 64 KiB, 256 KiB, 1 MiB or 4 MiB
 */
public record Lz4Frame(
    boolean independent,
    boolean blockChecksums,
    boolean contentChecksum,
    OptionalLong contentSize,
    int blockBytes) {

  /** The number at the start of a frame; little-endian. */
  private static final int MAGIC = 0x184D2204;

  /**
   * The number at the start of frames of other data, without its last four bits; readers skip them.
   */
  private static final int SKIPPABLE_MAGIC = 0x184D2A50;

  private static final int LEGACY_MAGIC = 0x184C2102;

  /** The most bytes of a header. */
  public static final int LONGEST_HEADER = 19;

  /** The bit in the size before a block that marks the block as not compressed. */
  static final int STORED = 1 << 31;

  private static final int VERSION = 1 << 6;
  private static final int VERSION_BITS = 3 << 6;
  private static final int INDEPENDENT = 1 << 5;
  private static final int BLOCK_CHECKSUMS = 1 << 4;
  private static final int CONTENT_SIZE = 1 << 3;
  private static final int CONTENT_CHECKSUM = 1 << 2;
  private static final int RESERVED = 1 << 1;
  private static final int DICTIONARY = 1;
  private static final int SMALLEST_BLOCK_CODE = 4;
  private static final int LARGEST_BLOCK_CODE = 7;

  /** Checks that the format has the block size, and that the content size is not negative. */
  public Lz4Frame {
    if (blockBytes != blockBytes(code(blockBytes))) {
      throw new IllegalArgumentException(
          "blocks of " + blockBytes + " bytes; there are 65536, 262144, 1048576 and 4194304");
    }
    if (contentSize.isPresent() && contentSize.getAsLong() < 0) {
      throw new IllegalArgumentException("a frame of " + contentSize.getAsLong() + " bytes");
    }
  }

  /**
   * Returns a header for independent blocks of 64 KiB, which suit decoding on a device, with a
   * checksum of the content.
   *
   * @param contentSize the number of decoded bytes
   */
  public static Lz4Frame of(long contentSize) {
    return new Lz4Frame(true, false, true, OptionalLong.of(contentSize), 64 << 10);
  }

  /** Returns this header with blocks of at most a number of bytes. */
  public Lz4Frame withBlockBytes(int bytes) {
    return new Lz4Frame(independent, blockChecksums, contentChecksum, contentSize, bytes);
  }

  /** Returns this header with or without a checksum after each block. */
  public Lz4Frame withBlockChecksums(boolean present) {
    return new Lz4Frame(independent, present, contentChecksum, contentSize, blockBytes);
  }

  /** Returns this header with or without a checksum of the content. */
  public Lz4Frame withContentChecksum(boolean present) {
    return new Lz4Frame(independent, blockChecksums, present, contentSize, blockBytes);
  }

  private static boolean isSkippable(int magic) {
    return (magic & ~0xf) == SKIPPABLE_MAGIC;
  }

  /**
   * Returns the bytes of the frame that begins here, if it is a frame of other data, which readers
   * skip.
   *
   * @throws Lz4FormatException if the frame is cut within its header
   */
  public static OptionalLong skippableBytes(ByteBuffer start) {
    ByteBuffer bytes = start.slice().order(ByteOrder.LITTLE_ENDIAN);
    if (bytes.remaining() < Integer.BYTES || !isSkippable(bytes.getInt())) {
      return OptionalLong.empty();
    }
    if (bytes.remaining() < Integer.BYTES) {
      throw new Lz4FormatException("it is cut within a skippable frame");
    }
    return OptionalLong.of(2 * Integer.BYTES + (bytes.getInt() & 0xffff_ffffL));
  }

  /** Returns the bytes of this header. */
  public int headerBytes() {
    return 7 + (contentSize.isPresent() ? Long.BYTES : 0);
  }

  /**
   * Reads a header.
   *
   * @param start the first bytes of a frame, {@link #LONGEST_HEADER} or all that there are
   * @throws Lz4FormatException if the bytes are no header, are cut or damaged, or use unsupported
   *     features
   */
  public static Lz4Frame parse(ByteBuffer start) {
    ByteBuffer bytes = start.slice().order(ByteOrder.LITTLE_ENDIAN);
    if (bytes.remaining() < 7) {
      throw new Lz4FormatException("it is cut within a frame's header");
    }
    int magic = bytes.getInt();
    if (magic == LEGACY_MAGIC) {
      throw new Lz4FormatException(
          "it has LZ4's old frame format; decompress it and compress it again with lz4");
    }
    if (magic != MAGIC) {
      throw new Lz4FormatException("it holds no LZ4 frame: %08x".formatted(magic));
    }
    int flags = bytes.get();
    int sizes = bytes.get() & 0xff;
    if ((flags & VERSION_BITS) != VERSION || (flags & RESERVED) != 0 || (sizes & 0x8f) != 0) {
      throw new Lz4FormatException("its frame header is damaged or of a newer version than 1");
    }
    if ((flags & DICTIONARY) != 0) {
      throw new Lz4FormatException("it needs a dictionary; compress it without one");
    }
    int code = sizes >>> 4;
    if (code < SMALLEST_BLOCK_CODE) {
      throw new Lz4FormatException("its frame header names the unknown block size " + code);
    }
    OptionalLong contentSize = OptionalLong.empty();
    if ((flags & CONTENT_SIZE) != 0) {
      if (bytes.remaining() < Long.BYTES + 1) {
        throw new Lz4FormatException("it is cut within a frame's header");
      }
      contentSize = OptionalLong.of(bytes.getLong());
    }
    int described = bytes.position();
    if (bytes.get() != check(bytes, described)) {
      throw new Lz4FormatException("its frame header is damaged: the checksum is wrong");
    }
    if (contentSize.orElse(0) < 0) {
      throw new Lz4FormatException(
          "its frame header says " + Long.toUnsignedString(contentSize.getAsLong()) + " bytes");
    }
    return new Lz4Frame(
        (flags & INDEPENDENT) != 0,
        (flags & BLOCK_CHECKSUMS) != 0,
        (flags & CONTENT_CHECKSUM) != 0,
        contentSize,
        blockBytes(code));
  }

  /** Returns the header's bytes. */
  public byte[] encode() {
    ByteBuffer bytes = ByteBuffer.allocate(headerBytes()).order(ByteOrder.LITTLE_ENDIAN);
    int flags =
        VERSION
            | (independent ? INDEPENDENT : 0)
            | (blockChecksums ? BLOCK_CHECKSUMS : 0)
            | (contentSize.isPresent() ? CONTENT_SIZE : 0)
            | (contentChecksum ? CONTENT_CHECKSUM : 0);
    bytes.putInt(MAGIC).put((byte) flags).put((byte) (code(blockBytes) << 4));
    contentSize.ifPresent(bytes::putLong);
    return bytes.put(check(bytes, bytes.position())).array();
  }

  /** Returns the byte that checks the bytes between the magic number and {@code end}. */
  private static byte check(ByteBuffer bytes, int end) {
    byte[] described = new byte[end - Integer.BYTES];
    bytes.get(Integer.BYTES, described);
    return (byte) (XxHash32.of(MemorySegment.ofArray(described)) >>> 8);
  }

  private static int blockBytes(int code) {
    return 1 << (8 + 2 * code);
  }

  private static int code(int blockBytes) {
    int code = (Integer.numberOfTrailingZeros(blockBytes) - 8) / 2;
    return Math.clamp(code, SMALLEST_BLOCK_CODE, LARGEST_BLOCK_CODE);
  }
}
