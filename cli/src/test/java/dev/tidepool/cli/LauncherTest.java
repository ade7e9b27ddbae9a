package dev.tidepool.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The script at the project's root that builds the command and becomes it. */
class LauncherTest {
  private static final Path PROJECT =
      Files.isDirectory(Path.of("cli")) ? Path.of("") : Path.of("..");

  @Test
  void builds_when_sources_of_any_part_of_the_command_are_newer() throws IOException {
    String launcher = Files.readString(PROJECT.resolve("tidepool"));
    List<String> modules = modules();
    assertThat(modules).contains("memory", "cuda", "cli");
    assertThat(modules)
        .allSatisfy(
            module ->
                assertThat(launcher)
                    .contains("\"$root/" + module + "/pom.xml\"")
                    .contains("\"$root/" + module + "/src/main\""));
  }

  /** The modules of this project that the command is made of. */
  private static List<String> modules() throws IOException {
    String pom = Files.readString(PROJECT.resolve("cli").resolve("pom.xml"));
    Stream<MatchResult> artifacts =
        Pattern.compile("<artifactId>tidepool-(\\w+)</artifactId>").matcher(pom).results();
    return artifacts
        .map(artifact -> artifact.group(1))
        .filter(module -> Files.isDirectory(PROJECT.resolve(module).resolve("src").resolve("main")))
        .toList();
  }
}
