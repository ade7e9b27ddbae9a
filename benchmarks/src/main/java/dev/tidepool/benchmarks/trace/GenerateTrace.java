package dev.tidepool.benchmarks.trace;

import java.io.IOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.stream.Collectors;

/** Writes the trace of a generated program, for {@code tidepool bench --replay}. */
public final class GenerateTrace {
  private GenerateTrace() {}

  /** Writes a trace. Arguments: the program's name, the file, and a seed, 1 by default. */
  public static void main(String[] arguments) throws IOException {
    if (arguments.length < 2 || arguments.length > 3) {
      System.err.println("give a program (" + names() + "), a file, and a seed if you like");
      System.exit(2);
    }
    write(
        arguments[0],
        Path.of(arguments[1]),
        arguments.length < 3 ? 1 : Long.parseLong(arguments[2]));
  }

  /**
   * Writes a trace, and replaces an existing file.
   *
   * @throws IllegalArgumentException if there is no program of that name
   */
  static void write(String name, Path file, long seed) throws IOException {
    Workload workload =
        Arrays.stream(Workload.values())
            .filter(one -> one.label().equals(name))
            .findFirst()
            .orElseThrow(
                () ->
                    new IllegalArgumentException(
                        "no program '" + name + "'; there are " + names()));
    try (Writer out = Files.newBufferedWriter(file)) {
      workload.write(new TraceWriter(out), seed);
    }
  }

  private static String names() {
    return Arrays.stream(Workload.values()).map(Workload::label).collect(Collectors.joining(", "));
  }
}
