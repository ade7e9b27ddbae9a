package dev.tidepool.codec;

import java.io.IOException;
import java.nio.file.Path;

/**
 * Reads LZ4 files at positions of their decoded contents. Implemented by the module {@code
 * dev.tidepool.lz4}, and found with {@link java.util.ServiceLoader}.
 */
public interface FileCodec {
  /**
   * Opens a compressed file.
   *
   * @param path the path in error messages
   * @param file the bytes of the file; the returned source closes it, or the caller if this method
   *     fails
   * @return the decoded contents
   * @throws dev.tidepool.TransferException if the file is truncated, or its headers are damaged
   */
  ByteSource open(Path path, ByteSource file) throws IOException;
}
