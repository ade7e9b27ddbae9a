package dev.tidepool.stream;

import dev.tidepool.ElementType;
import dev.tidepool.RawFile;
import dev.tidepool.TransferException;
import dev.tidepool.runtime.buffer.MemoryRange;
import dev.tidepool.spi.support.FileErrors;
import dev.tidepool.stream.file.AtomicFile;
import dev.tidepool.stream.file.PositionalFile;
import dev.tidepool.stream.pipeline.Sink;
import dev.tidepool.stream.pipeline.Source;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Predicate;

/**
 * The raw files of one run of a pipeline: those that are read, and those that are written, which
 * are put in their places when all are complete.
 */
final class RawFiles implements AutoCloseable {
  private final Map<String, RawReader> readers = new LinkedHashMap<>();
  private final Map<String, RawWriter> writers = new LinkedHashMap<>();

  private RawFiles() {}

  /** Returns the places of {@code .npy} files and raw files together, by name. */
  static Map<String, Path> paths(Map<String, Path> files, Map<String, RawFile<?>> raws) {
    Map<String, Path> paths = new LinkedHashMap<>(files);
    raws.forEach((name, file) -> paths.put(name, file.path()));
    return paths;
  }

  /**
   * Opens the files that are read, if any.
   *
   * @throws IllegalArgumentException if one has no whole number of elements
   * @throws TransferException if one cannot be read
   */
  static RawFiles open(Map<String, RawFile<?>> inputs) {
    RawFiles files = new RawFiles();
    try {
      inputs.forEach((name, file) -> files.readers.put(name, RawReader.open(file)));
      return files;
    } catch (RuntimeException | Error e) {
      try (files) {
        throw e;
      }
    }
  }

  /**
   * Begins the files that are written.
   *
   * @param length the number of elements of each
   * @param replaces whether a name's file may replace one that exists
   * @throws TransferException as {@link NpyWriter#create} does
   */
  void begin(Map<String, RawFile<?>> outputs, long length, Predicate<String> replaces) {
    outputs.forEach(
        (name, file) -> writers.put(name, RawWriter.create(file, length, replaces.test(name))));
  }

  Map<String, ? extends Source> readers() {
    return readers;
  }

  Map<String, ? extends Sink> writers() {
    return writers;
  }

  /** Completes the files that are written, before any appears. */
  void prepare() {
    writers.values().forEach(RawWriter::prepare);
  }

  /** Puts the files that are written in their places. */
  void commit() {
    writers.values().forEach(RawWriter::commit);
  }

  /** Closes all; files that are not in their places are deleted. */
  @Override
  public void close() {
    List<AutoCloseable> all = new ArrayList<>(readers.values());
    all.addAll(writers.values());
    NpyInputs.closeAll(all);
  }

  /**
   * Reads a {@link RawFile} at positions. Thread-safe.
   *
   * @param bytes where the elements are
   */
  private record RawReader(
      Path path,
      ElementType<?> elementType,
      long length,
      PositionalFile plainFile,
      MemoryRange bytes)
      implements Source, AutoCloseable {
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
      Objects.checkFromIndexSize(
          elementOffset, elementType.elements(destination.byteSize()), length);
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

  /** Writes a {@link RawFile}, which appears whole or not at all. Thread-safe. */
  private record RawWriter(AtomicFile file, ElementType<?> elementType, long length)
      implements Sink, AutoCloseable {
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
}
