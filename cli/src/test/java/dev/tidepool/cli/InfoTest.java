package dev.tidepool.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.tidepool.Accelerator;
import dev.tidepool.Tidepool;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class InfoTest {
  @Test
  void lists_every_accelerator_and_the_platform_in_80_columns() {
    Command.Result result = Command.run("info");
    assertThat(result.status()).isZero();
    assertThat(result.err()).isEmpty();
    assertThat(result.out()).contains("Accelerators", "cpu:0", "Platform", "page locking", "NUMA");
    try (Tidepool tidepool = Tidepool.open()) {
      for (Accelerator accelerator : tidepool.accelerators()) {
        assertThat(result.out()).contains(accelerator.id(), accelerator.kind().toString());
      }
      for (String note : tidepool.notes()) {
        assertThat(result.out().replaceAll("\\s+", " ")).contains(note.replaceAll("\\s+", " "));
      }
    }
    assertThat(result.out().lines()).allSatisfy(line -> assertThat(line).hasSizeLessThan(81));
  }

  @Test
  void prints_the_same_as_json_with_sizes_in_bytes() {
    Command.Result result = Command.run("info", "--json");
    assertThat(result.status()).isZero();
    JsonObject report = JsonParser.parseString(result.out()).getAsJsonObject();
    assertThat(report.get("version").getAsString()).isNotBlank();
    JsonObject cpu = report.getAsJsonArray("accelerators").asList().getLast().getAsJsonObject();
    assertThat(cpu.get("id").getAsString()).isEqualTo("cpu:0");
    assertThat(cpu.get("kind").getAsString()).isEqualTo("CPU");
    assertThat(cpu.get("maximumAllocationBytes").getAsLong()).isPositive();
    JsonObject memory = cpu.getAsJsonObject("memory");
    assertThat(memory.get("freeBytes").getAsLong())
        .isBetween(1L, memory.get("totalBytes").getAsLong());
    assertThat(memory.has("freeIsEstimate")).isTrue();
    assertThat(report.getAsJsonObject("platform").get("pageBytes").getAsLong())
        .isGreaterThanOrEqualTo(4096);
    assertThat(report.get("notes").isJsonArray()).isTrue();
  }

  @Test
  void tells_what_the_kernel_has_of_huge_pages_nodes_and_locking() throws Exception {
    JsonObject platform =
        JsonParser.parseString(Command.run("info", "--json").out())
            .getAsJsonObject()
            .getAsJsonObject("platform");
    assertThat(platform.getAsJsonArray("numaNodes")).isNotEmpty();
    assertThat(platform.has("numaPolicies")).isTrue();
    for (JsonElement size : platform.getAsJsonArray("explicitHugePages")) {
      JsonObject pages = size.getAsJsonObject();
      String file =
          "/sys/kernel/mm/hugepages/hugepages-%dkB/nr_hugepages"
              .formatted(pages.get("pageBytes").getAsLong() / 1024);
      assertThat(pages.get("reserved").getAsString())
          .isEqualTo(Files.readString(Path.of(file)).strip());
    }
    String text = Command.run("info").out();
    assertThat(text).contains("huge pages", "node", "policies", "page locking", "shared memory");
    assertThat(platform.get("sharedMemory").getAsString()).contains("tidepool-");
    if (platform.get("lockLimitBytes").isJsonNull() && platform.get("pageLocking").getAsBoolean()) {
      assertThat(text).contains("no limit");
    }
  }
}
