package dev.tidepool.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.tidepool.testkit.cuda.SimulatedCuda;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/**
 * The command on a machine with a card and little else: no NVRTC, no home, no variables. Takes a
 * minute, and so runs with {@code -Dtidepool.test.long=true} only.
 */
@EnabledIfSystemProperty(named = "tidepool.test.long", matches = "true")
@Timeout(600)
class CudaBoxTest {
  @TempDir private Path folder;

  private String run(Map<String, String> more, String... arguments)
      throws IOException, InterruptedException {
    SimulatedCuda simulated = SimulatedCuda.orSkip();
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    // As for a user without an entry in the system.
    command.addAll(List.of("-Duser.home=?", "-Xmx1g", "--enable-native-access=ALL-UNNAMED"));
    command.addAll(List.of("-cp", classPath(), Main.class.getName()));
    command.addAll(List.of(arguments));
    Path log = folder.resolve("log");
    ProcessBuilder process =
        new ProcessBuilder(command)
            .directory(Files.createDirectories(folder.resolve("empty")).toFile())
            .redirectErrorStream(true)
            .redirectOutput(log.toFile());
    process.environment().clear();
    process
        .environment()
        .putAll(
            Map.of(
                "TIDEPOOL_CUDA_LIBRARY", simulated.driver().toString(),
                "TIDEPOOL_SIM", "memory=" + (256 << 20),
                "TIDEPOOL_NVRTC", folder.resolve("empty").toString()));
    process.environment().putAll(more);
    int status = process.start().waitFor();
    String text = Files.readString(log);
    assertThat(status).as(text).isZero();
    try (Stream<Path> left = Files.list(folder.resolve("empty"))) {
      assertThat(left).as("files where the command ran").isEmpty();
    }
    return text;
  }

  /** Absolute, because the command runs elsewhere. */
  private static String classPath() {
    return Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
        .map(entry -> Path.of(entry).toAbsolutePath().toString())
        .collect(Collectors.joining(File.pathSeparator));
  }

  private static Map<String, String> withCompiler() {
    // The compiler is the host's, which looks for its parts there.
    return Map.of(
        "TIDEPOOL_NVRTC", SimulatedCuda.orSkip().compiler().toString(),
        "PATH", System.getenv("PATH"));
  }

  private static List<String> names(JsonArray rows) {
    List<String> names = new ArrayList<>();
    for (JsonElement row : rows) {
      names.add(
          row.getAsJsonObject().get("what").getAsString()
              + " / "
              + row.getAsJsonObject().get("other").getAsString());
    }
    return names;
  }

  private JsonObject bench(Map<String, String> more) throws IOException, InterruptedException {
    Path json = folder.resolve("figures.json");
    String text = run(more, "bench", "--device", "cuda:0", "--json", json.toString());
    assertThat(text.lines()).allSatisfy(line -> assertThat(line).hasSizeLessThan(81));
    return JsonParser.parseString(Files.readString(json)).getAsJsonObject();
  }

  @Test
  void without_a_compiler_the_figures_are_all_there_but_those_of_kernels() throws Exception {
    JsonObject report = bench(Map.of());
    assertThat(report.get("driver").getAsString()).startsWith("CUDA 13.0");
    assertThat(names(report.getAsJsonArray("rows")))
        .anyMatch(name -> name.startsWith("pinned to device, ") && name.endsWith(" / driver"))
        .anyMatch(name -> name.startsWith("allocate and free ") && name.endsWith(" / async"))
        .contains("1000 x 4 KiB in a list / each alone")
        .noneMatch(name -> name.contains("sqrt"));
    assertThat(report.getAsJsonArray("absent"))
        .anySatisfy(
            why -> assertThat(why.getAsString()).contains("z = sqrt(x*x + y*y)", "no NVRTC"));
  }

  @Test
  void without_a_compiler_all_tests_pass_but_those_of_kernels_which_are_skipped() throws Exception {
    assertThat(run(Map.of(), "selftest", "--device", "cuda:0", "--random", "5000"))
        .contains("WITHOUT KERNELS: ", "no NVRTC", " 0 failed", "read as they should be")
        .containsPattern("[1-9]\\d* skipped")
        .contains("bare driver")
        .doesNotContain("FAILED");
  }

  @Test
  void with_a_compiler_everything_is_measured_that_there_is_room_for() throws Exception {
    JsonObject report = bench(withCompiler());
    assertThat(report.getAsJsonArray("absent"))
        .extracting(JsonElement::getAsString)
        .satisfiesExactly(
            why -> assertThat(why).startsWith("allocate and free 100 MiB: it takes four times"),
            why -> assertThat(why).startsWith("allocate and free 1 GiB: it takes four times"));
    assertThat(names(report.getAsJsonArray("rows")))
        .anyMatch(name -> name.startsWith("z = sqrt(x*x + y*y), "))
        .anyMatch(name -> name.startsWith("in, computed, out"))
        .contains("managed, there and back / explicit", "working set of 1.5 limits / all fits");
  }
}
