package dev.tidepool.cli;

import static java.nio.ByteOrder.LITTLE_ENDIAN;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.tidepool.testkit.metal.SimulatedMetal;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The command on a machine with a simulated Metal device, which finds no fault with it. */
@Timeout(600)
class MetalMachineTest {
  @TempDir private Path folder;

  private String run(String device, String... arguments) throws IOException, InterruptedException {
    SimulatedMetal simulated = SimulatedMetal.orSkip();
    Path report = folder.resolve("report");
    Path log = folder.resolve("log");
    Map<String, String> machine =
        Map.of(
            "TIDEPOOL_METAL_LIBRARY", simulated.library().toString(),
            "TIDEPOOL_METAL_SIM", "memory=" + (256 << 20) + " " + device,
            "TIDEPOOL_METAL_SIM_REPORT", report.toString());
    int status = CommandProcess.start(log, machine, Main.class, arguments).waitFor();
    String text = Files.readString(log);
    assertThat(status).as(text).isZero();
    assertThat(text.lines()).allSatisfy(line -> assertThat(line).hasSizeLessThan(81));
    assertThat(report).as("what Metal would have punished").isEmptyFile();
    return text;
  }

  @Test
  void info_shows_the_device_and_its_memory() throws Exception {
    assertThat(run("", "info")).contains("metal:0", "GPU", "Metal, macOS ");
  }

  @Test
  void selftest_passes() throws Exception {
    assertThat(run("unified=1", "selftest", "--device", "metal:0", "--random", "500"))
        .startsWith("metal:0  ")
        .containsPattern("[1-9][\\d,]* passed, 0 failed")
        .containsPattern("500 random operations, [1-9][\\d,]* elements")
        .contains("bandwidth", "array to device")
        .doesNotContain("FAILED");
  }

  @Test
  void eval_of_64_bit_floats_goes_to_the_processor_and_says_so() throws Exception {
    byte[] two = {0, 0, 0, 0, 0, 0, 0, 0x40};
    Path x = NpyFiles.write(folder.resolve("x.npy"), "<f8", "(1,)", two);
    Path y = folder.resolve("y.npy");
    assertThat(run("", "eval", "y = x / 3", "x=" + x, "y=" + y))
        .contains("tidepool: metal:0 has no 64-bit floats, cpu:0 computed")
        .contains(" on cpu:0 (");
    byte[] bytes = Files.readAllBytes(y);
    assertThat(ByteBuffer.wrap(bytes).order(LITTLE_ENDIAN).getDouble(bytes.length - 8))
        .isEqualTo(2.0 / 3);
  }

  @Test
  void bench_measures_transfers_and_kernels() throws Exception {
    Path json = folder.resolve("figures.json");
    assertThat(run("unified=0", "bench", "--device", "metal:0", "--json", json.toString()))
        .startsWith("metal:0  ")
        .contains("no pool", "unpinned", "Java loop");
    JsonObject report = JsonParser.parseString(Files.readString(json)).getAsJsonObject();
    assertThat(report.get("driver").getAsString()).startsWith("Metal, macOS ");
    for (JsonElement row : report.getAsJsonArray("rows")) {
      assertThat(row.getAsJsonObject().get("nanos").getAsDouble()).isPositive();
      assertThat(row.getAsJsonObject().get("otherNanos").getAsDouble()).isPositive();
    }
  }
}
