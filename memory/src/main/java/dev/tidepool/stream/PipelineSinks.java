package dev.tidepool.stream;

import dev.tidepool.ElementType;
import dev.tidepool.KernelSource;
import dev.tidepool.RawFile;
import dev.tidepool.stream.pipeline.Sink;
import dev.tidepool.stream.pipeline.StagePlan;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.LongFunction;

/** The names that a pipeline writes, with their sinks. Not thread-safe. */
final class PipelineSinks {
  private final Map<String, Path> files = new LinkedHashMap<>();
  private final Map<String, RawFile<?>> raws = new LinkedHashMap<>();
  private final Map<String, Sink> others = new LinkedHashMap<>();
  private final Map<String, LongFunction<Sink>> consumers = new LinkedHashMap<>();
  private final Set<String> names = new LinkedHashSet<>();
  private final Set<String> replaced = new HashSet<>();
  private boolean overwrite;

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

  void add(String name, Sink sink) {
    add(name);
    others.put(name, sink);
  }

  /** Adds a sink that is created for the length of each run. */
  void add(String name, LongFunction<Sink> consumer) {
    add(name);
    consumers.put(name, consumer);
  }

  private void add(String name) {
    Objects.requireNonNull(name, "name");
    if (!names.add(name)) {
      throw new IllegalArgumentException(
          "'" + name + "' goes to two places; assign it to a second name too");
    }
  }

  /** Lets the file of a name replace an existing one. */
  void replacing(String name) {
    replaced.add(name);
  }

  /** Lets all files replace existing ones. */
  void overwriting() {
    overwrite = true;
  }

  /** Returns whether the file of a name may replace one that exists. */
  boolean replaces(String name) {
    return overwrite || replaced.contains(name);
  }

  /** Returns all names, in their order. */
  Set<String> names() {
    return names;
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
   * Takes the length of a stream from the sinks that have one.
   *
   * @param length whether something else than the sinks needs the length
   * @throws IllegalArgumentException if the lengths differ, or the length is needed and unknown
   */
  void fit(StreamedArrays<?> arrays, boolean length) {
    arrays.fit(others);
    boolean needed = length || !files.isEmpty() || !raws.isEmpty();
    if (needed && !arrays.isLengthKnown()) {
      throw new IllegalArgumentException(
          "a stream of arrays has no length before its end, which files and reductions need; tell"
              + " it in from, or send results to consumers only");
    }
  }

  /** Returns all sinks of a run but the files, by name. */
  Map<String, Sink> besidesFiles(long length) {
    Map<String, Sink> sinks = new LinkedHashMap<>(others);
    consumers.forEach((name, consumer) -> sinks.put(name, consumer.apply(length)));
    return sinks;
  }

  /**
   * Returns the {@code .npy} files to create. Their shape is that of the files that are read;
   * without these they have one dimension.
   *
   * @param types the types of all arrays
   * @param length the number of elements of each
   * @throws IllegalArgumentException if no kernel writes the array of a file
   */
  Map<String, NpyOutputs.Target> targets(
      Map<String, ElementType<?>> types, NpyInputs inputs, long length) {
    List<Long> shape = inputs.readers().isEmpty() ? List.of(length) : inputs.shape();
    Map<String, NpyOutputs.Target> targets = new LinkedHashMap<>();
    files.forEach(
        (name, file) -> {
          NpyType type = NpyType.of(StagePlan.made(types, name));
          NpyHeader header = NpyHeader.of(type, inputs.isFortranOrder(), shape);
          targets.put(name, new NpyOutputs.Target(file, header, replaces(name), false));
        });
    return targets;
  }

  /**
   * Checks that each name is in a kernel.
   *
   * @throws IllegalArgumentException if one is not
   */
  void checkMade(List<KernelSource> kernels) {
    Set<String> unmade = new LinkedHashSet<>(names);
    kernels.forEach(kernel -> unmade.removeAll(StagePlan.names(kernel)));
    if (!unmade.isEmpty()) {
      throw new IllegalArgumentException(
          "no kernel makes '" + unmade.iterator().next() + "'; assign it, or leave it out");
    }
  }

  /**
   * Checks that a later run could continue all sinks.
   *
   * @throws IllegalArgumentException if one is no {@code .npy} file
   */
  void checkResumable() {
    for (String name : names) {
      if (!files.containsKey(name)) {
        throw PipelineRequest.notResumable(
            "'" + name + "' is written to something else than a .npy file");
      }
    }
  }
}
