package dev.tidepool.spring.sample;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The recipe of the guide: a training run makes a cache, and later starts load classes from it. */
@DisplayName("A service with an AOT cache")
class AotCacheTest {
  private static final Pattern PORT = Pattern.compile("Tomcat started on port (\\d+)");

  @TempDir private Path folder;

  /** The class path with a jar in the place of each folder, which a cache does not take. */
  private String jars() throws IOException {
    List<String> jars = new ArrayList<>();
    for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
      Path path = Path.of(entry);
      if (Files.isDirectory(path)) {
        Path jar = folder.resolve("classes-" + jars.size() + ".jar");
        pack(path, jar);
        path = jar;
      }
      if (Files.exists(path)) {
        jars.add(path.toString());
      }
    }
    return String.join(File.pathSeparator, jars);
  }

  private static void pack(Path classes, Path jar) throws IOException {
    try (OutputStream file = Files.newOutputStream(jar);
        JarOutputStream packed = new JarOutputStream(file);
        Stream<Path> files = Files.walk(classes)) {
      for (Path path : files.filter(Files::isRegularFile).sorted().toList()) {
        String name = classes.relativize(path).toString().replace(File.separatorChar, '/');
        packed.putNextEntry(new JarEntry(name));
        Files.copy(path, packed);
        packed.closeEntry();
      }
    }
  }

  private static Process start(List<String> command) throws IOException {
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    builder.environment().keySet().removeIf(name -> name.startsWith("TIDEPOOL_"));
    return builder.start();
  }

  private static List<String> service(String classPath, String... options) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-Xmx256m", "--enable-native-access=ALL-UNNAMED", "-cp", classPath));
    command.addAll(List.of(options));
    command.addAll(
        List.of(SampleService.class.getName(), "--server.port=0", "--tidepool.accelerator=cpu:0"));
    return command;
  }

  @Test
  @DisplayName("is trained once, and loads Tidepool's classes from the cache")
  void trainedOnce() throws Exception {
    Path cache = folder.resolve("service.aot");
    Path classes = folder.resolve("classes.log");
    String jars = jars();
    Process training =
        start(service(jars, "-XX:AOTCacheOutput=" + cache, "-Dspring.context.exit=onRefresh"));
    String trained = new String(training.getInputStream().readAllBytes(), UTF_8);
    assertThat(training.waitFor()).as(trained).isZero();
    assertThat(cache).as(trained).isNotEmptyFile();

    // With this mode the JVM ends if it cannot use the cache.
    Process other =
        start(
            service(
                jars,
                "-XX:AOTCache=" + cache,
                "-XX:AOTMode=on",
                "-Xlog:class+load:file=" + classes));
    try (BufferedReader lines = other.inputReader(UTF_8)) {
      List<String> before = new ArrayList<>();
      String port = "";
      for (String line = lines.readLine(); line != null && port.isEmpty(); ) {
        before.add(line);
        Matcher found = PORT.matcher(line);
        port = found.find() ? found.group(1) : "";
        line = port.isEmpty() ? lines.readLine() : line;
      }
      assertThat(port).as(String.join("\n", before)).isNotEmpty();
      assertThat(doubled(port)).isEqualTo("[2.0,5.0]");
      assertThat(other.toHandle().destroy()).isTrue();
      assertThat(lines.readAllLines()).isNotNull();
      assertThat(other.waitFor(60, TimeUnit.SECONDS)).isTrue();
    } finally {
      other.destroyForcibly();
    }
    List<String> loaded =
        Files.readAllLines(classes).stream()
            .filter(line -> line.contains(" dev.tidepool.UnifiedMemoryManager "))
            .collect(Collectors.toList());
    assertThat(loaded).isNotEmpty().allMatch(line -> line.contains("shared objects file"));
  }

  private static String doubled(String port) throws Exception {
    try (HttpClient http = HttpClient.newHttpClient()) {
      return http.send(
              HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/double"))
                  .header("Content-Type", "application/json")
                  .POST(HttpRequest.BodyPublishers.ofString("[1, 2.5]"))
                  .build(),
              HttpResponse.BodyHandlers.ofString())
          .body();
    }
  }
}
