package dev.tidepool.lz4;

import dev.tidepool.codec.ByteSource;
import io.airlift.compress.v3.lz4.Lz4Compressor;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.Channels;
import java.util.Random;

/** Data, blocks and frames for tests. */
enum Samples {
  NOISE,
  TEXT,
  ZEROS;

  static final long SEED = Long.getLong("tidepool.test.seed", 20261121);

  byte[] bytes(int length, Random random) {
    byte[] bytes = new byte[length];
    switch (this) {
      case NOISE -> random.nextBytes(bytes);
      case TEXT -> {
        for (int i = 0; i < length; i++) {
          boolean copies = i > 30 && random.nextInt(12) > 0;
          bytes[i] = copies ? bytes[i - 1 - i / 7 % 29] : (byte) ('a' + random.nextInt(20));
        }
      }
      case ZEROS -> {}
    }
    return bytes;
  }

  /** One block, which may be larger than its content. */
  static byte[] compressed(byte[] bytes) {
    Lz4Compressor compressor = Lz4Compressor.create();
    MemorySegment room =
        MemorySegment.ofArray(new byte[compressor.maxCompressedLength(bytes.length)]);
    int size = compressor.compress(MemorySegment.ofArray(bytes), room);
    return room.asSlice(0, size).toArray(ValueLayout.JAVA_BYTE);
  }

  static byte[] frame(Lz4Frame header, byte[] bytes) throws IOException {
    ByteArrayOutputStream file = new ByteArrayOutputStream();
    Lz4FrameWriter writer = new Lz4FrameWriter(Channels.newChannel(file), header);
    writer.write(MemorySegment.ofArray(bytes));
    writer.end();
    return file.toByteArray();
  }

  /** A number as frames have it. */
  static byte[] number(int value) {
    byte[] bytes = new byte[Integer.BYTES];
    ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).putInt(value);
    return bytes;
  }

  /** A file in memory. */
  record File(byte[] bytes) implements ByteSource {
    @Override
    public long size() {
      return bytes.length;
    }

    @Override
    public void read(long position, MemorySegment destination) throws IOException {
      if (position + destination.byteSize() > bytes.length) {
        throw new EOFException("the file ends at byte " + bytes.length);
      }
      MemorySegment.copy(
          MemorySegment.ofArray(bytes), position, destination, 0, destination.byteSize());
    }

    @Override
    public void close() {}
  }
}
