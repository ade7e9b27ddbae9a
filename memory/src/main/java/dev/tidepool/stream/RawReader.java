package dev.tidepool.stream;

import dev.tidepool.ElementType;
import dev.tidepool.RawFile;
import dev.tidepool.TransferException;
import dev.tidepool.runtime.buffer.MemoryRange;
import dev.tidepool.spi.support.FileErrors;
import dev.tidepool.stream.file.PositionalFile;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Objects;

/** Reads a {@link RawFile} at positions. Safe for use by any thread. */
final class RawReader implements ElementSource, AutoCloseable {
  private final Path path;
  private final ElementType<?> type;
  private final PositionalFile file;
  private final long length;
  private final MemoryRange bytes;

  private RawReader(RawFile<?> raw, PositionalFile file) throws IOException {
    this.path = raw.path();
    this.type = raw.type();
    this.file = file;
    long size = file.size();
    if (size % type.byteSize() != 0) {
      throw FileErrors.noElements(path, size, type);
    }
    this.length = size / type.byteSize();
    this.bytes = new MemoryRange(MemoryRange.ofFile(path).memory(), 0, size);
  }

  /**
   * Opens a file.
   *
   * @throws IllegalArgumentException if it has no whole number of elements
   * @throws TransferException if it cannot be read
   */
  static RawReader open(RawFile<?> raw) {
    return PositionalFile.open(raw.path(), file -> new RawReader(raw, file));
  }

  /** Where the elements are. */
  MemoryRange bytes() {
    return bytes;
  }

  @Override
  public ElementType<?> elementType() {
    return type;
  }

  @Override
  public long length() {
    return length;
  }

  @Override
  public void read(long elementOffset, MemorySegment destination) {
    Objects.checkFromIndexSize(elementOffset, type.elements(destination.byteSize()), length);
    try {
      file.read(type.bytes(elementOffset), destination);
    } catch (EOFException e) {
      throw new TransferException(path + " shrank while it was read: " + e.getMessage(), e);
    } catch (IOException e) {
      throw FileErrors.failed("read", path, e);
    }
  }

  @Override
  public void close() {
    FileErrors.close(path, file);
  }
}
