package dev.tidepool.stream;

import dev.tidepool.ElementType;
import dev.tidepool.RawFile;
import dev.tidepool.stream.file.AtomicFile;
import java.lang.foreign.MemorySegment;
import java.util.Objects;

/** Writes a {@link RawFile}, which appears whole or not at all. Safe for use by any thread. */
final class RawWriter implements ElementSink, AutoCloseable {
  private final AtomicFile file;
  private final ElementType<?> type;
  private final long length;

  private RawWriter(AtomicFile file, ElementType<?> type, long length) {
    this.file = file;
    this.type = type;
    this.length = length;
  }

  /**
   * Begins a file.
   *
   * @param overwrite whether a file that exists is replaced
   * @throws dev.tidepool.TransferException as {@link NpyWriter#create} does
   */
  static RawWriter create(RawFile<?> raw, long length, boolean overwrite) {
    AtomicFile file =
        AtomicFile.create(
            raw.path(), raw.type().bytes(length), overwrite, AtomicFile.newPartialName(), false);
    return new RawWriter(file, raw.type(), length);
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
  public void write(long elementOffset, MemorySegment source) {
    Objects.checkFromIndexSize(elementOffset, type.elements(source.byteSize()), length);
    file.write(type.bytes(elementOffset), source);
  }

  /** Lets the system allocate the blocks of a large file before all of it is written. */
  void reserve() {
    file.reserve(type.bytes(length));
  }

  /** Completes the file, as {@link AtomicFile#prepare} does. */
  void prepare() {
    file.prepare(type.bytes(length));
  }

  /** Makes the file appear, as {@link NpyWriter#commit} does. */
  void commit() {
    file.commit(type.bytes(length));
  }

  @Override
  public void close() {
    file.close();
  }
}
