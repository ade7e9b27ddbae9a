package dev.tidepool.lz4;

import io.airlift.compress.v3.lz4.Lz4Compressor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.WritableByteChannel;

/**
 * Writes one LZ4 frame of independent blocks. Used by one thread. Without {@link #end} the frame is
 * cut, and every reader reports that.
 *
 * <pre>{@code
 * try (FileChannel file = FileChannel.open(path, WRITE, CREATE_NEW)) {
 *   Lz4FrameWriter writer = new Lz4FrameWriter(file, Lz4Frame.of(bytes.byteSize()));
 *   writer.write(bytes);
 *   writer.end();
 * }
 * }</pre>
 */
public final class Lz4FrameWriter {
  private final WritableByteChannel channel;
  private final Lz4Frame frame;
  private final Lz4Compressor compressor = Lz4Compressor.create();
  private final XxHash32 content = new XxHash32();
  private final MemorySegment block;
  private final MemorySegment compressed;
  private long filled;
  private long written;
  private boolean hasEnded;

  /**
   * Creates a writer, and writes the header.
   *
   * @param channel a blocking channel, which stays open
   * @throws IllegalArgumentException if the frame's blocks are not independent
   */
  public Lz4FrameWriter(WritableByteChannel channel, Lz4Frame frame) throws IOException {
    if (!frame.independent()) {
      throw new IllegalArgumentException("only independent blocks are written");
    }
    this.channel = channel;
    this.frame = frame;
    Arena arena = Arena.ofAuto();
    this.block = arena.allocate(frame.blockBytes());
    this.compressed = arena.allocate(compressor.maxCompressedLength(frame.blockBytes()));
    put(ByteBuffer.wrap(frame.encode()));
  }

  /**
   * Adds bytes; a block is written as soon as it is full. The bytes are copied first: they may be a
   * mapped file, which must not be given to native code.
   *
   * @throws IllegalStateException if the frame has ended
   */
  public void write(MemorySegment bytes) throws IOException {
    checkNotEnded();
    for (long at = 0; at < bytes.byteSize(); ) {
      long count = Math.min(bytes.byteSize() - at, block.byteSize() - filled);
      MemorySegment.copy(bytes, at, block, filled, count);
      filled += count;
      at += count;
      if (filled == block.byteSize()) {
        writeBlock();
      }
    }
  }

  private void writeBlock() throws IOException {
    MemorySegment plain = block.asSlice(0, filled);
    MemorySegment stored = compressed.asSlice(0, compressor.compress(plain, compressed));
    int size = (int) stored.byteSize();
    if (stored.byteSize() >= filled) {
      stored = plain;
      size = (int) filled | Lz4Frame.STORED;
    }
    putInt(size);
    put(stored.asByteBuffer());
    if (frame.blockChecksums()) {
      putInt(XxHash32.of(stored));
    }
    if (frame.contentChecksum()) {
      content.update(plain);
    }
    written += filled;
    filled = 0;
  }

  /**
   * Writes the remaining bytes and the end of the frame.
   *
   * @throws IllegalStateException if the frame's header has another number of bytes, or the frame
   *     has ended
   */
  public void end() throws IOException {
    checkNotEnded();
    if (filled > 0) {
      writeBlock();
    }
    if (frame.contentSize().isPresent() && frame.contentSize().getAsLong() != written) {
      throw new IllegalStateException(
          "the frame has %s bytes, but its header says %s"
              .formatted(written, frame.contentSize().getAsLong()));
    }
    hasEnded = true;
    putInt(0);
    if (frame.contentChecksum()) {
      putInt(content.value());
    }
  }

  private void checkNotEnded() {
    if (hasEnded) {
      throw new IllegalStateException("the frame has ended; a new writer writes another one");
    }
  }

  private void putInt(int value) throws IOException {
    put(ByteBuffer.allocate(Integer.BYTES).order(ByteOrder.LITTLE_ENDIAN).putInt(value).flip());
  }

  private void put(ByteBuffer bytes) throws IOException {
    while (bytes.hasRemaining()) {
      channel.write(bytes);
    }
  }
}
