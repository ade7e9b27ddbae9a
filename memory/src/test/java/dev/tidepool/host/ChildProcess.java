package dev.tidepool.host;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** A program in a process of its own, because privileges can only be given up for good. */
final class ChildProcess {
  /** The option of a virtual machine that lets nobody call native code. */
  static final String DENIED = "--illegal-native-access=deny";

  private ChildProcess() {}

  /**
   * Runs a class's main method and collects the lines {@code name=value} that it prints. It may
   * call native code unless the options deny that.
   *
   * @param before the commands that start the virtual machine in their surroundings
   * @param options of the virtual machine
   */
  static Map<String, String> run(List<String> before, List<String> options, Class<?> main)
      throws Exception {
    List<String> command = new ArrayList<>(before);
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-Xmx64m", "-XX:TieredStopAtLevel=1"));
    if (!options.contains(DENIED)) {
      command.add("--enable-native-access=ALL-UNNAMED");
    }
    command.addAll(options);
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
    Path output = Files.createTempFile("tidepool", ".out");
    try {
      Process process =
          new ProcessBuilder(command)
              .redirectErrorStream(true)
              .redirectOutput(output.toFile())
              .start();
      int status = process.waitFor();
      List<String> lines = Files.readAllLines(output);
      assertThat(status).as(String.join("\n", lines)).isZero();
      return lines.stream()
          .filter(line -> line.contains("="))
          .map(line -> line.split("=", 2))
          .collect(Collectors.toMap(pair -> pair[0], pair -> pair[1]));
    } finally {
      Files.delete(output);
    }
  }
}
