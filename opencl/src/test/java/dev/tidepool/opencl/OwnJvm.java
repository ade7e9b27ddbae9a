package dev.tidepool.opencl;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** A virtual machine for one test: for what can be decided only once in a process. */
final class OwnJvm {

  /** How it ended and what it printed. */
  record Result(int status, String output) {}

  private OwnJvm() {}

  static Result run(Class<?> main, List<String> options) throws Exception {
    return run(main, options, Map.of());
  }

  static Result run(Class<?> main, List<String> options, Map<String, String> environment)
      throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    if (options.stream().noneMatch(option -> option.startsWith("--enable-native-access"))) {
      command.add("--enable-native-access=ALL-UNNAMED");
    }
    command.addAll(List.of("-Xmx256m", "-cp", System.getProperty("java.class.path")));
    command.addAll(options);
    command.add(main.getName());
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    builder.environment().putAll(environment);
    Process process = builder.start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    return new Result(process.waitFor(), output);
  }

  /** A library of this Java that loads and is no OpenCL. */
  static String someLibrary() throws IOException {
    try (Stream<Path> files = Files.list(Path.of(System.getProperty("java.home"), "lib"))) {
      return files
          .filter(file -> file.getFileName().toString().matches("(lib)?zip\\.(so|dylib|dll)"))
          .findFirst()
          .orElseThrow()
          .toString();
    }
  }
}
