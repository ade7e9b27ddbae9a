package dev.tidepool.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.tidepool.Accelerator;
import dev.tidepool.Tidepool;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
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
      assertThat(result.out())
          .containsPattern("best +" + tidepool.memory().accelerator().id() + ", ");
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
    assertThat(report.get("best").getAsString()).isNotBlank();
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

  @Test
  void tells_what_a_platform_lacks_that_has_nothing() {
    assertThat(
            printed(
                new InfoReport.Platform(
                    "Windows 11 10.0",
                    "amd64",
                    null,
                    8,
                    "25",
                    4096,
                    0,
                    null,
                    List.of(),
                    List.of(0),
                    false,
                    false,
                    null,
                    null,
                    false,
                    false,
                    "C:/Temp/tidepool-me, files on disk")))
        .containsExactly(
            "  system        Windows 11 10.0, amd64",
            "  processor     model not told, 8 threads",
            "  Java          25",
            "  pages         4 KiB; no transparent huge pages",
            "  huge pages    the system has none to set aside",
            "  NUMA          1 node (0); policies absent or forbidden: memory comes from any",
            "                node",
            "  page locking  refused by the system: pinned memory becomes plain memory",
            "  shared memory C:/Temp/tidepool-me, files on disk",
            "  address map   absent: wrapped memory is not page-locked, and blocks do not",
            "                tell their pages",
            "  allocation    by Java: the system's allocator was not found");
  }

  @Test
  void tells_what_raises_the_limit_of_locked_memory_on_macos() {
    assertThat(
            printed(
                new InfoReport.Platform(
                    "Mac OS X 15.1",
                    "aarch64",
                    "Apple M2",
                    8,
                    "25",
                    16_384,
                    0,
                    null,
                    List.of(),
                    List.of(0),
                    false,
                    true,
                    12L << 30,
                    "ulimit -l, sysctl vm.user_wire_limit",
                    false,
                    true,
                    "/tmp/tidepool-501, files on disk, for this user only")))
        .contains(
            "  processor     Apple M2, 8 threads",
            "  pages         16 KiB; no transparent huge pages",
            "  page locking  available, up to 12 GiB (ulimit -l, sysctl vm.user_wire_limit)")
        .noneMatch(line -> line.contains("allocation"));
  }

  private static List<String> printed(InfoReport.Platform platform) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    InfoCommand.print(platform, new PrintStream(bytes, true, StandardCharsets.UTF_8));
    return bytes.toString(StandardCharsets.UTF_8).lines().toList();
  }

  @Test
  void shows_who_copies_straight_from_whom() {
    PrintedPeers printed = new PrintedPeers();
    printed.add("cuda:0", "cuda:1", true, "on first use");
    printed.add("cuda:0", "cpu:0", false, "unreachable");
    printed.add("cuda:1", "cuda:0", true, "disabled");
    printed.add("cuda:1", "cpu:0", false, "unreachable");
    printed.add("cpu:0", "cuda:0", false, "unreachable");
    printed.add("cpu:0", "cuda:1", false, "unreachable");
    assertThat(printed.lines())
        .containsExactly(
            "  from, to      cuda:0        cuda:1        cpu:0",
            "  cuda:0        -             direct        by the host",
            "  cuda:1        disabled      -             by the host",
            "  cpu:0         by the host   by the host   -");
  }

  @Test
  void a_wide_matrix_is_cut_to_80_columns() {
    PrintedPeers printed = new PrintedPeers();
    for (int from = 0; from < 9; from++) {
      for (int to = 0; to < 9; to++) {
        if (from != to) {
          printed.add("simulated:" + from, "simulated:" + to, false, "unreachable");
        }
      }
    }
    assertThat(printed.lines())
        .hasSize(3 * 10)
        .allSatisfy(line -> assertThat(line).hasSizeLessThan(81));
  }

  @Test
  void tells_every_pair_as_json() {
    JsonObject report =
        JsonParser.parseString(Command.run("info", "--json").out()).getAsJsonObject();
    try (Tidepool tidepool = Tidepool.open()) {
      int count = tidepool.accelerators().size();
      assertThat(report.getAsJsonArray("peers")).hasSize(count * (count - 1));
    }
    for (JsonElement element : report.getAsJsonArray("peers")) {
      JsonObject peer = element.getAsJsonObject();
      assertThat(peer.keySet())
          .contains("from", "to", "reachable", "state", "copies", "bytes", "stagedBytes");
    }
  }

  /** The matrix of peers that there need not be. */
  private static final class PrintedPeers {
    private final List<InfoReport.Peer> peers = new ArrayList<>();

    void add(String from, String to, boolean reachable, String state) {
      peers.add(new InfoReport.Peer(from, to, reachable, state, 0, 0, 0, 0, 0));
    }

    List<String> lines() {
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      PeerMatrix.print(peers, new PrintStream(bytes, true, StandardCharsets.UTF_8));
      return bytes.toString(StandardCharsets.UTF_8).lines().toList();
    }
  }
}
