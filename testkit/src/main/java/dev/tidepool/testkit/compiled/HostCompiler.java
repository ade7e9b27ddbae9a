package dev.tidepool.testkit.compiled;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A C++ compiler.
 *
 * @param command the command that calls it
 * @param version its own description
 */
public record HostCompiler(String command, String version) {
  /** The options for libraries. */
  static final List<String> FLAGS =
      List.of(
          "-std=c++20",
          "-O1",
          "-fPIC",
          "-fvisibility=hidden",
          "-pthread",
          "-Wall",
          "-Wextra",
          "-Werror");

  /**
   * Returns the compiler that {@code CXX} names, otherwise {@code g++} or {@code c++}; empty if
   * none runs.
   */
  public static Optional<HostCompiler> find() {
    String chosen = System.getenv("CXX");
    return (chosen == null || chosen.isBlank() ? Stream.of("g++", "c++") : Stream.of(chosen))
        .flatMap(
            command -> {
              try {
                String version = output(new ProcessBuilder(command, "--version"));
                return Stream.of(new HostCompiler(command, version));
              } catch (IOException absent) {
                return Stream.empty();
              }
            })
        .findFirst();
  }

  /** Compiles in a folder; if this fails, the exception contains the compiler's messages. */
  public void run(Path folder, List<String> options, String... arguments) throws IOException {
    List<String> call = new ArrayList<>(List.of(command));
    call.addAll(FLAGS);
    call.addAll(options);
    call.addAll(List.of(arguments));
    output(new ProcessBuilder(call).directory(folder.toFile()));
  }

  private static String output(ProcessBuilder builder) throws IOException {
    Process process = builder.redirectErrorStream(true).start();
    String text;
    try (InputStream stream = process.getInputStream()) {
      process.getOutputStream().close();
      text = new String(stream.readAllBytes(), StandardCharsets.UTF_8);
      if (!process.waitFor(5, TimeUnit.MINUTES) || process.exitValue() != 0) {
        throw new IOException(String.join(" ", builder.command()) + " failed:\n" + text);
      }
    } catch (InterruptedException interrupt) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while the compiler ran", interrupt);
    } finally {
      process.destroy();
    }
    return text;
  }
}
