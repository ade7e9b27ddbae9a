package dev.tidepool.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.tidepool.host.system.OperatingSystem;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Processes that take this machine for another platform work, and tell what they lack. Stand-ins:
 * they show that no call is made that the platform lacks, and not how that platform behaves.
 */
class OtherPlatformsTest {
  @TempDir Path folder;

  private Map<String, String> run(
      List<String> before, String name, String architecture, String... options) throws Exception {
    List<String> all = new ArrayList<>(List.of(options));
    all.add("-Dtidepool.test.folder=" + folder);
    all.add("-Dtidepool.test.name=" + name);
    all.add("-Dtidepool.test.architecture=" + architecture);
    Map<String, String> said = ChildProcess.run(before, all, PlatformProgram.class);
    assertThat(said.get("work")).isEqualTo("done");
    return said;
  }

  @ParameterizedTest
  @CsvSource({
    "Linux, aarch64, LINUX",
    "Linux, ppc64le, LINUX",
    "Mac OS X, aarch64, MACOS",
    "Windows 11, amd64, WINDOWS",
    "FreeBSD, amd64, OTHER"
  })
  void aProcessWithoutAnyNativeFunctionWorksOnEveryPlatform(
      String name, String architecture, OperatingSystem system) throws Exception {
    Map<String, String> said = run(List.of(), name, architecture, ChildProcess.DENIED);
    assertThat(said)
        .containsEntry("system", system.name())
        .containsEntry("page", "4096")
        .containsEntry("native", "false")
        .containsEntry("locking", "false")
        .containsEntry("limit", "-1")
        .containsEntry("numa", "false")
        .containsEntry("huge", "0")
        // Each of the blocks that were to be locked.
        .containsEntry("refused locks", "3");
    assertThat(Long.parseLong(said.get("pinned fallbacks"))).isPositive();
  }

  @ParameterizedTest
  @CsvSource({"Windows 11, amd64, false", "FreeBSD, amd64, true", "Linux, ppc64le, true"})
  @EnabledOnOs(OS.LINUX)
  void aSystemThatNoTableHasIsCalledByItsStandardFunctionsAlone(
      String name, String architecture, boolean allocates) throws Exception {
    Map<String, String> said = run(List.of(), name, architecture);
    assertThat(said)
        .containsEntry("native", String.valueOf(allocates))
        .containsEntry("locking", "false")
        .containsEntry("refused locks", "3")
        .containsEntry("numa", "false")
        .containsEntry("huge", "0");
  }

  /** Its calls for NUMA have other numbers, which this machine's kernel refuses. */
  @Test
  @EnabledOnOs(value = OS.LINUX, architectures = "amd64")
  void linuxOnAArch64DiffersInTheNumbersOfNumaCallsAlone() throws Exception {
    Map<String, String> here = run(List.of(), "Linux", "amd64");
    Map<String, String> there = run(List.of(), "Linux", "aarch64");
    assertThat(there).containsEntry("numa", "false");
    for (String same : List.of("page", "locking", "limit", "huge", "native", "shared", "total")) {
      assertThat(there).containsEntry(same, here.get(same));
    }
  }

  /** The C library of macOS by a stand-in that refuses Linux's numbers. */
  @Test
  @EnabledOnOs(OS.LINUX)
  void macOsIsCalledByItsOwnNumbersWithPagesOf16KiB() throws Exception {
    Map<String, String> said =
        run(List.of("env", "LD_PRELOAD=" + macLibrary()), "Mac OS X", "aarch64");
    assertThat(said)
        .containsEntry("system", "MACOS")
        .containsEntry("wrong calls", "0")
        .containsEntry("locked ranges", "0")
        .containsEntry("page", "16384")
        .containsEntry("processor", "Stand-in M0")
        .containsEntry("native", "true")
        .containsEntry("locking", "true")
        // The system's own limit, because the process has none.
        .containsEntry("limit", String.valueOf(4 << 20))
        .containsEntry("setting", "ulimit -l, sysctl vm.user_wire_limit")
        // The block of 5 MiB is above it.
        .containsEntry("refused locks", "1")
        .containsEntry("numa", "false")
        .containsEntry("huge", "0")
        .containsEntry("total", String.valueOf(16L << 30))
        .containsEntry("free", String.valueOf((15_000 + 1000 + 300_000) * 16_384L))
        .containsEntry("obtainable", String.valueOf(16L << 30))
        .containsEntry("estimate", "true");
    assertThat(said.get("shared")).contains(", files on disk");
  }

  private Path macLibrary() throws IOException, InterruptedException {
    Path source = folder.resolve("mac_library.cpp");
    try (InputStream file = OtherPlatformsTest.class.getResourceAsStream("mac_library.cpp")) {
      Files.copy(Objects.requireNonNull(file), source);
    }
    Path library = folder.resolve("libmac.so");
    String compiler = System.getenv().getOrDefault("CXX", "g++");
    Process process;
    try {
      process =
          new ProcessBuilder(
                  compiler, "-shared", "-fPIC", "-o", library.toString(), source.toString(), "-ldl")
              .inheritIO()
              .start();
    } catch (IOException e) {
      assumeTrue(false, "SKIPPED: there is no C++ compiler; set CXX");
      throw e;
    }
    assertThat(process.waitFor()).isZero();
    return library;
  }
}
