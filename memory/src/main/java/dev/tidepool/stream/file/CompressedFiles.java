package dev.tidepool.stream.file;

import dev.tidepool.TransferException;
import dev.tidepool.codec.ByteSource;
import dev.tidepool.codec.FileCodec;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ServiceLoader;

/**
 * Recognizes compressed files and opens them with the codec of another module. The magic numbers
 * are here, not in the codec, so that the error can name the missing module.
 */
public final class CompressedFiles {
  private static final int LZ4_FRAME = 0x184D2204;

  /** LZ4's frame format of before 2013, which the codec refuses with advice. */
  private static final int LZ4_LEGACY_FRAME = 0x184C2102;

  /** Frames of other data, which readers skip; the last four bits are free. */
  private static final int LZ4_SKIPPABLE_FRAME = 0x184D2A50;

  private static final int SKIPPABLE_MASK = ~0xf;

  private CompressedFiles() {}

  /** Returns whether a file begins as LZ4 files do. */
  public static boolean isCompressed(ByteSource file) throws IOException {
    if (file.size() < Integer.BYTES) {
      return false;
    }
    byte[] start = new byte[Integer.BYTES];
    file.read(0, MemorySegment.ofArray(start));
    int magic = ByteBuffer.wrap(start).order(ByteOrder.LITTLE_ENDIAN).getInt();
    return magic == LZ4_FRAME
        || magic == LZ4_LEGACY_FRAME
        || (magic & SKIPPABLE_MASK) == LZ4_SKIPPABLE_FRAME;
  }

  /**
   * Returns what a compressed file decodes to.
   *
   * @param file closed with the returned source, but not if this method fails
   * @throws TransferException if no codec is installed, or the file is damaged in its headers
   */
  public static ByteSource open(Path path, ByteSource file) throws IOException {
    return ServiceLoader.load(FileCodec.class, FileCodec.class.getClassLoader())
        .findFirst()
        .orElseThrow(
            () ->
                new TransferException(
                    "cannot read "
                        + path
                        + ": it is compressed by lz4, and the artifact dev.tidepool:tidepool-lz4 is"
                        + " not on the class path or module path; add it, or decompress the file"
                        + " with lz4 -d",
                    null))
        .open(path, file);
  }
}
