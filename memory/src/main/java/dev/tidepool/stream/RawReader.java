package dev.tidepool.stream;

import dev.tidepool.ElementType;
import dev.tidepool.RawFile;
import dev.tidepool.TransferException;
import dev.tidepool.runtime.buffer.MemoryRange;
import dev.tidepool.spi.support.FileErrors;
import dev.tidepool.stream.file.PositionalFile;
import dev.tidepool.stream.pipeline.Source;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Objects;

/**
 * Reads a {@link RawFile} at positions. Thread-safe.
 *
 * @param bytes where the elements are
 */
record RawReader(
    Path path, ElementType<?> elementType, long length, PositionalFile plainFile, MemoryRange bytes)
    implements Source, AutoCloseable {
  /**
   * Opens a file.
   *
   * @throws IllegalArgumentException if it has no whole number of elements
   * @throws TransferException if it cannot be read
   */
  static RawReader open(RawFile<?> raw) {
    return PositionalFile.open(raw.path(), file -> over(file, raw));
  }

  private static RawReader over(PositionalFile file, RawFile<?> raw) throws IOException {
    Path path = raw.path();
    ElementType<?> type = raw.type();
    long size = file.size();
    if (size % type.byteSize() != 0) {
      throw FileErrors.noElements(path, size, type);
    }
    MemoryRange bytes = MemoryRange.ofFile(path).front(size);
    return new RawReader(path, type, size / type.byteSize(), file, bytes);
  }

  @Override
  public void read(long elementOffset, MemorySegment destination) {
    Objects.checkFromIndexSize(elementOffset, elementType.elements(destination.byteSize()), length);
    try {
      plainFile.read(elementType.bytes(elementOffset), destination);
    } catch (EOFException e) {
      throw new TransferException(path + " shrank while it was read: " + e.getMessage(), e);
    } catch (IOException e) {
      throw FileErrors.failed("read", path, e);
    }
  }

  @Override
  public void close() {
    FileErrors.close(path, plainFile);
  }
}
