package dev.tidepool.stream;

import dev.tidepool.TidepoolException;
import dev.tidepool.TransferException;
import dev.tidepool.spi.support.FileErrors;
import dev.tidepool.stream.UserEndpoints.UserSource;
import dev.tidepool.stream.pipeline.Journal;
import dev.tidepool.stream.pipeline.Source;
import dev.tidepool.stream.pipeline.TransposedSource;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The {@code .npy} files that a pipeline reads, all of one shape. Results have that shape, and the
 * order of the files: if these differ, C order, and files in Fortran order are transposed while
 * they are read.
 */
final class NpyInputs implements AutoCloseable {
  /**
   * The bytes of a chunk if files are transposed: the more rows it has, the longer the reads are.
   */
  private static final long TURNING_CHUNK_BYTES = 16L << 20;

  private final Map<String, NpyReader> readers = new LinkedHashMap<>();
  private boolean anyFortran;
  private boolean anyC;

  private NpyInputs() {}

  /**
   * Opens the files. There may be none; then there is no shape and no length.
   *
   * @throws IllegalArgumentException if shapes differ
   * @throws NpyFormatException if one is not a supported {@code .npy} file
   * @throws dev.tidepool.TransferException if one cannot be opened
   */
  static NpyInputs open(Map<String, Path> files) {
    NpyInputs inputs = new NpyInputs();
    try {
      files.forEach(inputs::open);
      return inputs;
    } catch (RuntimeException | Error e) {
      try (inputs) {
        throw e;
      }
    }
  }

  private void open(String name, Path file) {
    NpyReader reader = NpyReader.open(file);
    readers.put(name, reader);
    NpyReader first = first();
    if (!first.header().shape().equals(reader.header().shape())) {
      throw new IllegalArgumentException(
          "shapes differ: "
              + first.path()
              + " is "
              + first.header().shapeText()
              + ", "
              + reader.path()
              + " is "
              + reader.header().shapeText()
              + "; all inputs must have one shape");
    }
    if (!NpyHeader.isBothOrders(reader.header().shape())) {
      anyFortran |= reader.header().fortranOrder();
      anyC |= !reader.header().fortranOrder();
    }
  }

  private NpyReader first() {
    return readers.values().iterator().next();
  }

  /** Makes elements come in C order, independent of the order of the files. */
  void inCOrder() {
    anyC = true;
  }

  /** Returns the files by their names. */
  Map<String, NpyReader> readers() {
    return readers;
  }

  /** Returns the shape of all files. */
  List<Long> shape() {
    return first().header().shape();
  }

  /** See {@link NpyReader#allowCriticalCalls}. */
  void allowCriticalCalls() {
    readers.values().forEach(NpyReader::allowCriticalCalls);
  }

  /** Returns the number of elements of each file. */
  long length() {
    return first().length();
  }

  boolean isFortranOrder() {
    return anyFortran && !anyC;
  }

  /** Returns whether some files are transposed while they are read. */
  private boolean isAnyTurned() {
    return anyFortran && anyC;
  }

  /**
   * Returns the options, with large chunks if some files are transposed and no size is requested.
   */
  StreamOptions fitting(StreamOptions options) {
    return isAnyTurned() && options.chunkBytes() == 0
        ? options.withChunkBytes(TURNING_CHUNK_BYTES)
        : options;
  }

  /** Returns the elements of the files in the order of the results, by name. */
  Map<String, Source> sources() {
    Map<String, Source> sources = new LinkedHashMap<>();
    for (Map.Entry<String, NpyReader> reader : readers.entrySet()) {
      sources.put(reader.getKey(), source(reader.getValue()));
    }
    return sources;
  }

  private Source source(NpyReader reader) {
    boolean turned =
        isAnyTurned() && reader.header().fortranOrder() && reader.header().elementCount() > 0;
    Source source = new UserSource(reader);
    return turned ? new TransposedSource(source, reader.header().shape(), reader.whole()) : source;
  }

  /** Returns traits that show whether the files are the same as in an earlier run. */
  List<Journal.Trait> traits() {
    List<Journal.Trait> traits = new ArrayList<>();
    for (Map.Entry<String, NpyReader> input : readers.entrySet()) {
      NpyReader reader = input.getValue();
      Path file = reader.path().toAbsolutePath();
      try {
        BasicFileAttributes now = Files.readAttributes(file, BasicFileAttributes.class);
        String value =
            "%s=%s %s %s %s %s"
                .formatted(
                    input.getKey(),
                    file,
                    now.size(),
                    now.lastModifiedTime(),
                    now.fileKey(),
                    reader.header());
        traits.add(new Journal.Trait(reader.path().toString(), value));
      } catch (IOException e) {
        throw FileErrors.failed("look at", file, e);
      }
    }
    return traits;
  }

  /**
   * Compares the checksums of compressed files with their contents.
   *
   * @throws TransferException if one is wrong
   */
  void verify() {
    readers.values().forEach(NpyReader::verify);
  }

  @Override
  public void close() {
    closeAll(readers.values());
  }

  /**
   * Closes all files, also if some fail. Throws the first failure, with the others as suppressed
   * exceptions.
   */
  static void closeAll(Collection<? extends AutoCloseable> files) {
    TidepoolException failure = null;
    for (AutoCloseable file : files) {
      try {
        file.close();
      } catch (TidepoolException e) {
        if (failure == null) {
          failure = e;
        } else {
          failure.addSuppressed(e);
        }
      } catch (Exception e) {
        throw new AssertionError(e);
      }
    }
    if (failure != null) {
      throw failure;
    }
  }
}
