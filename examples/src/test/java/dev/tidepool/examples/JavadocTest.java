package dev.tidepool.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.spi.ToolProvider;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * What {@code -Prelease} publishes beside the jars of the libraries. The Javadoc tool finds what
 * {@code javac -Xdoclint} does not, such as a link to a method that readers cannot see.
 */
@DisplayName("The Javadoc of the libraries")
class JavadocTest {
  private static final Path PROJECT =
      Files.isDirectory(Path.of("docs")) ? Path.of("") : Path.of("..");
  private static final List<String> MODULES =
      List.of("memory", "testkit", "opencl", "cuda", "metal", "lz4", "micrometer");

  @TempDir Path pages;

  @Test
  void is_made_without_an_error_or_a_warning() {
    StringWriter messages = new StringWriter();
    PrintWriter out = new PrintWriter(messages);
    int status = ToolProvider.findFirst("javadoc").orElseThrow().run(out, out, options());
    assertThat(messages.toString().lines())
        .filteredOn(line -> line.contains("error:") || line.contains("warning:"))
        .as(messages.toString())
        .isEmpty();
    assertThat(status).as(messages.toString()).isZero();
    assertThat(pages.resolve("dev.tidepool.memory/dev/tidepool/UnifiedBuffer.html")).exists();
  }

  private String[] options() {
    List<String> options = new ArrayList<>(List.of("-quiet", "-Xdoclint:all,-missing"));
    options.addAll(List.of("-d", pages.toString(), "--module-path", dependencies()));
    for (String module : MODULES) {
      Path sources = PROJECT.resolve(module).resolve("src/main/java");
      options.addAll(List.of("--module-source-path", "dev.tidepool." + module + "=" + sources));
      options.addAll(List.of("--module", "dev.tidepool." + module));
    }
    return options.toArray(String[]::new);
  }

  /** What the modules need beyond each other. */
  private static String dependencies() {
    return Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
        .filter(path -> path.endsWith(".jar"))
        .filter(path -> !Path.of(path).getFileName().toString().startsWith("tidepool-"))
        .collect(Collectors.joining(File.pathSeparator));
  }
}
