package dev.tidepool.stream;

import dev.tidepool.RawFile;
import dev.tidepool.stream.pipeline.Source;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The names that a pipeline reads, with their sources. Not thread-safe. */
final class PipelineSources {
  private final Map<String, Path> files = new LinkedHashMap<>();
  private final Map<String, RawFile<?>> raws = new LinkedHashMap<>();
  private final Map<String, Source> others = new LinkedHashMap<>();
  private final Set<String> names = new LinkedHashSet<>();
  private @Nullable StreamedArrays<?> stream;

  void add(String name, Path file) {
    Objects.requireNonNull(file, "file");
    add(name);
    files.put(name, file);
  }

  void add(String name, RawFile<?> file) {
    Objects.requireNonNull(file, "file");
    add(name);
    raws.put(name, file);
  }

  void add(String name, Source source) {
    add(name);
    others.put(name, source);
  }

  private void add(String name) {
    Objects.requireNonNull(name, "name");
    if (stream != null) {
      throw new IllegalArgumentException(
          "'" + name + "' beside a stream of arrays, which must be the only source");
    }
    if (!names.add(name)) {
      throw new IllegalArgumentException("'" + name + "' is given twice");
    }
  }

  /** Sets the stream of arrays, which is the only source then. */
  void only(StreamedArrays<?> arrays) {
    stream = arrays;
  }

  /** Returns all names, in their order. */
  Set<String> names() {
    return stream == null ? names : Set.of(stream.name());
  }

  boolean isEmpty() {
    return stream == null && names.isEmpty();
  }

  /** Returns the stream of arrays, or null if the sources are others. */
  @Nullable StreamedArrays<?> stream() {
    return stream;
  }

  /** Returns the {@code .npy} files, by name. */
  Map<String, Path> files() {
    return files;
  }

  /** Returns the raw files, by name. */
  Map<String, RawFile<?>> raws() {
    return raws;
  }

  /** Returns the places of all files, by name. */
  Map<String, Path> paths() {
    return RawFiles.paths(files, raws);
  }

  /**
   * Returns all sources of a run, by name; for a stream, its window.
   *
   * @param inputs the {@code .npy} files, open
   * @param opened the raw files, open
   */
  Map<String, Source> opened(NpyInputs inputs, RawFiles opened) {
    Map<String, Source> sources = new LinkedHashMap<>(others);
    sources.putAll(inputs.sources());
    sources.putAll(opened.readers());
    if (stream != null) {
      sources.put(stream.name(), stream.window());
    }
    return sources;
  }

  /**
   * Checks that a later run could compare all sources with those of this one.
   *
   * @throws IllegalArgumentException if one is no {@code .npy} file
   */
  void checkResumable() {
    if (stream != null) {
      throw PipelineRequest.notResumable("it reads a stream of arrays, not .npy files");
    }
    for (String name : names) {
      if (!files.containsKey(name)) {
        throw PipelineRequest.notResumable(
            "'" + name + "' is read from something else than a .npy file");
      }
    }
  }
}
