package dev.tidepool.host.system;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** What the headers of this machine say, by a program that is compiled and run. */
final class HeaderValues {
  private HeaderValues() {}

  /**
   * Returns the value of each expression. Skips the test where there is no compiler.
   *
   * @param folder for the program
   * @param headers that it includes
   */
  static Map<String, Long> of(Path folder, Collection<String> headers, List<String> expressions)
      throws IOException, InterruptedException {
    StringBuilder program = new StringBuilder();
    headers.forEach(header -> program.append("#include <" + header + ">\n"));
    program.append("#include <cstddef>\n#include <cstdio>\nint main() {\n");
    for (String expression : expressions) {
      program.append("  std::printf(\"%lld\\n\", (long long) (" + expression + "));\n");
    }
    program.append("}\n");
    Path source = Files.writeString(folder.resolve("values.cpp"), program);
    Path binary = folder.resolve("values");
    run(folder, compiler(), source.toString(), "-o", binary.toString());
    List<String> values = run(folder, binary.toString());
    Map<String, Long> found = new LinkedHashMap<>();
    for (int i = 0; i < expressions.size(); i++) {
      found.put(expressions.get(i), Long.valueOf(values.get(i)));
    }
    return found;
  }

  private static String compiler() {
    Optional<String> compiler =
        List.of(System.getenv().getOrDefault("CXX", "g++"), "clang++").stream()
            .filter(HeaderValues::isThere)
            .findFirst();
    assumeTrue(compiler.isPresent(), "SKIPPED: there is no C++ compiler; set CXX");
    return compiler.orElseThrow();
  }

  private static boolean isThere(String command) {
    try {
      return new ProcessBuilder(command, "--version")
              .redirectOutput(ProcessBuilder.Redirect.DISCARD)
              .redirectError(ProcessBuilder.Redirect.DISCARD)
              .start()
              .waitFor()
          == 0;
    } catch (IOException | InterruptedException e) {
      return false;
    }
  }

  private static List<String> run(Path folder, String... command)
      throws IOException, InterruptedException {
    Path output = folder.resolve("output");
    int status =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start()
            .waitFor();
    List<String> lines = Files.readAllLines(output);
    assertThat(status).as(String.join("\n", lines)).isZero();
    return lines;
  }
}
