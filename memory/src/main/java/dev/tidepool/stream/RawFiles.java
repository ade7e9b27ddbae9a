package dev.tidepool.stream;

import dev.tidepool.RawFile;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/**
 * The raw files of one run of a pipeline: those that are read, and those that are written, which
 * are put in their places when all are whole.
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
   * Opens the files that are read; none is a legal number.
   *
   * @throws IllegalArgumentException if one has no whole number of elements
   * @throws dev.tidepool.TransferException if one cannot be read
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
   * @param length elements of each
   * @param replaces whether a name's file may replace one that exists
   * @throws dev.tidepool.TransferException as {@link RawWriter#create} does
   */
  void begin(Map<String, RawFile<?>> outputs, long length, Predicate<String> replaces) {
    outputs.forEach(
        (name, file) -> writers.put(name, RawWriter.create(file, length, replaces.test(name))));
  }

  Map<String, RawReader> readers() {
    return readers;
  }

  Map<String, RawWriter> writers() {
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
}
