package dev.tidepool.stream;

import dev.tidepool.ElementType;
import dev.tidepool.RawFile;
import dev.tidepool.stream.file.AtomicFile;
import dev.tidepool.stream.pipeline.Sink;
import java.lang.foreign.MemorySegment;
import java.util.Objects;

/** Writes a {@link RawFile}, which appears whole or not at all. Thread-safe. */
record RawWriter(AtomicFile file, ElementType<?> elementType, long length)
    implements Sink, AutoCloseable {
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
  public void write(long elementOffset, MemorySegment source) {
    Objects.checkFromIndexSize(elementOffset, elementType.elements(source.byteSize()), length);
    file.write(elementType.bytes(elementOffset), source);
  }

  /** Completes the file, as {@link AtomicFile#prepare} does. */
  void prepare() {
    file.prepare(elementType.bytes(length));
  }

  /** Makes the file appear, as {@link NpyWriter#commit} does. */
  void commit() {
    file.commit(elementType.bytes(length));
  }

  @Override
  public void close() {
    file.close();
  }
}
