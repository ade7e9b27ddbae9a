package dev.tidepool.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class BenchTest {
  private static final String TRACE =
      "tidepool-trace 1\n+ 0 5000 DEVICE\n- 0\n+ 1 5000 DEVICE\n+ 2 100 HOST\n- 2\n- 1\n";

  @TempDir private Path folder;

  private Path trace(String text) throws IOException {
    return Files.writeString(folder.resolve("app.trace"), text);
  }

  @Test
  void measures_pool_transfers_and_kernels_beside_the_plain_ways_in_80_columns()
      throws IOException {
    Path json = folder.resolve("figures.json");
    Command.Result result = Command.run("bench", "--device", "cpu:0", "--json", json.toString());
    assertThat(result.err()).isEmpty();
    assertThat(result.status()).isZero();
    assertThat(result.out())
        .startsWith("cpu:0  ")
        .contains(
            "no pool", "unpinned", "Java loop", "on arrays", "bare copy", "an arena", "otherwise")
        .contains("room for 2, ", "room for 16, ", "% are hits", "asynchronous")
        .contains("struct of arrays", "of structs", "aligned", "shifted", "1 byte off");
    assertThat(result.out().lines()).allSatisfy(line -> assertThat(line).hasSizeLessThan(81));
    JsonObject report = JsonParser.parseString(Files.readString(json)).getAsJsonObject();
    assertThat(report.get("device").getAsString()).isEqualTo("cpu:0");
    assertThat(report.getAsJsonArray("rows"))
        .allSatisfy(
            row -> {
              assertThat(row.getAsJsonObject().get("nanos").getAsDouble()).isPositive();
              assertThat(row.getAsJsonObject().get("otherNanos").getAsDouble()).isPositive();
            });
  }

  @Test
  void replays_a_recorded_trace_pooled_and_unpooled_side_by_side() throws IOException {
    Path json = folder.resolve("figures.json");
    Command.Result result =
        Command.run(
            "bench",
            "--replay",
            trace(TRACE).toString(),
            "--fill",
            "--device",
            "cpu:0",
            "--json",
            json.toString());
    assertThat(result.err()).isEmpty();
    assertThat(result.status()).isZero();
    assertThat(result.out())
        .contains("app.trace: 3 allocations", "pooled", "unpooled", "driver calls", "hit rate");
    assertThat(result.out().lines()).allSatisfy(line -> assertThat(line).hasSizeLessThan(81));
    JsonObject report = JsonParser.parseString(Files.readString(json)).getAsJsonObject();
    assertThat(report.getAsJsonObject("pooled").get("peakLive").getAsLong()).isEqualTo(5100);
    assertThat(report.getAsJsonObject("unpooled").get("driverCalls").getAsLong()).isEqualTo(3);
    double calls = report.getAsJsonObject("pooled").get("driverCalls").getAsDouble();
    assertThat(report.get("driverCallsSaved").getAsDouble()).isEqualTo(1 - calls / 3);
    assertThat(report.get("filled").getAsBoolean()).isTrue();
  }

  @ParameterizedTest
  @CsvSource({
    "--replay nowhere, nowhere cannot be read: no such file or folder",
    "--replay ., is a folder",
    "--fill, --fill belongs to --replay",
    "--calibrate --fill, --fill belongs to --replay",
    "--device opencl:99, opencl:99",
    "--json /nowhere/figures.json, the folder /nowhere does not exist",
    "--json /proc/figures.json, cannot write /proc/figures.json",
    "--json ., . exists and is no regular file",
    "surplus, surplus",
  })
  void wrong_arguments_are_one_line_and_nothing_is_measured(String arguments, String problem) {
    Command.Result result = Command.run(("bench " + arguments).split(" "));
    assertThat(result.status()).isEqualTo(2);
    assertThat(result.out()).isEmpty();
    assertThat(result.err()).startsWith("tidepool: ").contains(problem).hasLineCount(1);
  }

  @Test
  void figures_do_not_replace_the_trace_that_they_are_of() throws IOException {
    String trace = trace(TRACE).toString();
    Command.Result result = Command.run("bench", "--replay", trace, "--json", trace);
    assertThat(result.status()).isEqualTo(2);
    assertThat(result.out()).isEmpty();
    assertThat(result.err()).contains("app.trace is the file that is read");
    assertThat(Path.of(trace)).hasContent(TRACE);
  }

  @Test
  void a_replay_is_not_recorded_over_its_trace() throws IOException {
    String trace = trace(TRACE).toString();
    System.setProperty("tidepool.trace", trace);
    try {
      Command.Result result = Command.run("bench", "--replay", trace);
      assertThat(result.status()).isEqualTo(2);
      assertThat(result.err()).contains("would be recorded over it; unset TIDEPOOL_TRACE");
    } finally {
      System.clearProperty("tidepool.trace");
    }
    assertThat(Path.of(trace)).hasContent(TRACE);
  }

  @Test
  void a_run_that_fails_keeps_the_figures_that_were_there() throws IOException {
    Path json = Files.writeString(folder.resolve("figures.json"), "precious");
    String text = "tidepool-trace 1\n+ 0 " + (Long.MAX_VALUE / 2) + " DEVICE\n";
    Command.Result result =
        Command.run("bench", "--replay", trace(text).toString(), "--json", json.toString());
    assertThat(result.status()).isEqualTo(1);
    assertThat(json).hasContent("precious");
    assertThat(folder.toFile().list()).containsExactlyInAnyOrder("figures.json", "app.trace");
  }

  @Test
  void a_file_that_is_no_trace_is_one_line_that_names_the_place() throws IOException {
    Command.Result result = Command.run("bench", "--replay", trace(TRACE + "- 1\n").toString());
    assertThat(result.status()).isEqualTo(2);
    assertThat(result.err())
        .hasLineCount(1)
        .contains("app.trace, line 8: buffer 1 is freed, but is not live");
  }

  @Test
  void a_trace_of_nothing_is_one_line_and_no_figures() throws IOException {
    Command.Result result =
        Command.run("bench", "--replay", trace("tidepool-trace 1\n").toString());
    assertThat(result.status()).isEqualTo(2);
    assertThat(result.out()).isEmpty();
    assertThat(result.err()).hasLineCount(1).contains("app.trace' is empty");
  }

  @Test
  void a_trace_that_needs_more_memory_than_there_is_fails_in_one_line() throws IOException {
    String text = "tidepool-trace 1\n+ 0 " + (Long.MAX_VALUE / 2) + " DEVICE\n";
    Command.Result result =
        Command.run("bench", "--device", "cpu:0", "--replay", trace(text).toString());
    assertThat(result.status()).isEqualTo(1);
    assertThat(result.err()).startsWith("tidepool: ").hasLineCount(1);
  }

  @Test
  void refuses_to_calibrate_memory_that_is_shared_and_says_what_to_do() {
    Command.Result result = Command.run("bench", "--calibrate", "--device", "cpu:0");
    assertThat(result.status()).isEqualTo(2);
    assertThat(result.err()).contains("cpu:0", "--device");
    result = Command.run("bench", "--calibrate", "--replay", "app.trace");
    assertThat(result.status()).isEqualTo(2);
    assertThat(result.err()).contains("--calibrate and --replay");
  }
}
