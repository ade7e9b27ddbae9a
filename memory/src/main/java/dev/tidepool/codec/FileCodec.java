package dev.tidepool.codec;

import java.io.IOException;
import java.nio.file.Path;

/**
 * Reads LZ4 files at positions of what they decode to. The module {@code dev.tidepool.lz4}
 * implements it, and is found with {@link java.util.ServiceLoader}.
 */
public interface FileCodec {
  /**
   * Opens a compressed file.
   *
   * @param path the file's name in error messages
   * @param file the file's bytes; the returned source closes it, and the caller does if this method
   *     fails
   * @return what the file decodes to
   * @throws dev.tidepool.TransferException if the file is cut, or damaged in its headers
   */
  ByteSource open(Path path, ByteSource file) throws IOException;
}
