package dev.tidepool.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import dev.tidepool.MemoryInfo;
import dev.tidepool.host.system.OperatingSystem;
import dev.tidepool.host.system.ProcFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class HostMemoryTest {
  @TempDir Path folder;

  @Test
  void freeMemoryIsAPartOfTheTotal() {
    MemoryInfo memory = HostMemory.now();
    assertThat(memory.totalBytes()).isGreaterThan(64L << 20);
    assertThat(memory.freeBytes()).isBetween(1L, memory.totalBytes());
  }

  @Test
  void theJavaPlatformAnswersWhereTheSystemHasNoFiles() {
    MemoryInfo memory = HostMemory.ofJavaPlatform();
    assertThat(memory.totalBytes()).isGreaterThan(64L << 20);
    assertThat(memory.freeBytes()).isBetween(1L, memory.totalBytes());
    assertThat(memory.freeIsEstimate()).isTrue();
  }

  @Test
  void whatCanBeHadWithoutSwappingIsFree() {
    assertThat(
            HostMemory.ofMeminfo("MemTotal:  1000 kB\nMemFree:   100 kB\nMemAvailable:   700 kB\n"))
        .isEqualTo(new MemoryInfo(1000 * 1024, 700 * 1024, false));
  }

  @Test
  void anOldKernelsFreeMemoryIsAnEstimate() {
    assertThat(
            HostMemory.ofMeminfo(
                "MemTotal:  1000 kB\nMemFree:   100 kB\nSwapCached:  7 kB\nCached:   200 kB"))
        .isEqualTo(new MemoryInfo(1000 * 1024, 300 * 1024, true));
    assertThat(HostMemory.ofMeminfo("")).isNull();
  }

  @Test
  void onMacOsWhatIsInUseCanMakeRoomForARequest() {
    assertThat(HostMemory.ofMacOs(OptionalLong.of(1000), OptionalLong.of(300)))
        .isEqualTo(new HostMemory.Reading(new MemoryInfo(1000, 300, true), 700));
    assertThat(HostMemory.ofMacOs(OptionalLong.of(1000), OptionalLong.of(3000)))
        .isEqualTo(new HostMemory.Reading(new MemoryInfo(1000, 1000, true), 0));
  }

  @Test
  void onMacOsNothingIsSaidOfMemoryThatTheKernelDoesNotTell() {
    assertThat(HostMemory.ofMacOs(OptionalLong.empty(), OptionalLong.of(300))).isNull();
    assertThat(HostMemory.ofMacOs(OptionalLong.of(1000), OptionalLong.empty())).isNull();
  }

  @Test
  void theProcessorsModelIsTheFirstThatIsTold() {
    assertThat(
            HostPlatform.processorName(List.of("processor : 0", "model name\t: EPYC", "Model : x")))
        .contains("EPYC");
    assertThat(HostPlatform.processorName(List.of("CPU part : 0xd0c", "Model : Raspberry Pi 5")))
        .contains("Raspberry Pi 5");
    assertThat(HostPlatform.processorName(List.of("CPU part : 0xd0c"))).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
    "LINUX, ulimit -l",
    "MACOS, 'ulimit -l, sysctl vm.user_wire_limit'",
    "WINDOWS, ",
    "OTHER, "
  })
  void whatRaisesTheLimitOfLockedMemoryDependsOnTheSystem(
      OperatingSystem system, @Nullable String setting) {
    assertThat(HostPlatform.lockLimitSetting(system)).isEqualTo(Optional.ofNullable(setting));
  }

  @Test
  void aPlatformThatLacksEverythingSaysSo() {
    HostPlatform bare =
        new HostPlatform(
            "Other 1",
            "cpu",
            Optional.empty(),
            1,
            4096,
            0,
            Optional.empty(),
            List.of(),
            List.of(0),
            false,
            false,
            OptionalLong.empty(),
            Optional.empty(),
            false,
            false);
    assertThat(bare.describe())
        .containsEntry("transparent huge pages", "absent")
        .containsEntry("explicit huge pages", "absent")
        .containsEntry("NUMA policies", "absent or forbidden: memory comes from any node")
        .containsEntry("page locking", "absent: pinned memory is plain memory")
        .containsEntry("lock limit", "not told by the system")
        .containsEntry(
            "address map",
            "absent: wrapped memory is not page-locked, and blocks do not tell their pages")
        .containsEntry("native allocation", "absent: blocks come from Java arenas");
  }

  @Test
  void aControlGroupOfVersion2LimitsTheMemory() throws IOException {
    Path group = Files.createDirectories(folder.resolve("a/b"));
    Files.writeString(group.resolve("memory.max"), "1000\n");
    Files.writeString(group.resolve("memory.current"), "900\n");
    Files.writeString(group.resolve("memory.stat"), "anon 1\ninactive_file 300\nactive_file 50\n");
    Cgroup found = Cgroup.read(membership("0::/a/b"), folder);
    assertThat(found).isEqualTo(new Cgroup(1000, 450));
    assertThat(HostMemory.within(new MemoryInfo(5000, 4000, false), found))
        .isEqualTo(new MemoryInfo(1000, 450, false));
    assertThat(HostMemory.within(new MemoryInfo(800, 400, false), found))
        .isEqualTo(new MemoryInfo(800, 400, false));
  }

  @Test
  void theTightestGroupOnTheWayUpDecides() throws IOException {
    Path group = Files.createDirectories(folder.resolve("a/b"));
    Files.writeString(group.resolve("memory.max"), "max\n");
    Files.writeString(group.resolve("memory.current"), "10\n");
    Files.writeString(group.resolveSibling("memory.max"), "2000\n");
    Files.writeString(group.resolveSibling("memory.current"), "500\n");
    assertThat(Cgroup.read(membership("0::/a/b"), folder)).isEqualTo(new Cgroup(2000, 1500));
  }

  @Test
  void aControlGroupOfVersion1LimitsTheMemory() throws IOException {
    Path group = Files.createDirectories(folder.resolve("memory/box"));
    Files.writeString(group.resolve("memory.limit_in_bytes"), "1000\n");
    Files.writeString(group.resolve("memory.usage_in_bytes"), "600\n");
    Files.writeString(group.resolve("memory.stat"), "total_inactive_file 100\n");
    assertThat(Cgroup.read(membership("3:cpu:/\n4:memory:/box"), folder))
        .isEqualTo(new Cgroup(1000, 500));
  }

  @Test
  void aGroupThatIsOnlySeenAtTheMountsRootStillCounts() throws IOException {
    Files.writeString(folder.resolve("memory.max"), "1000\n");
    Files.writeString(folder.resolve("memory.current"), "600\n");
    assertThat(Cgroup.read(membership("0::/host/path/../of/it"), folder))
        .isEqualTo(new Cgroup(1000, 400));
  }

  @Test
  void withoutALimitThereIsNone() throws IOException {
    Path group = Files.createDirectories(folder.resolve("memory/box"));
    Files.writeString(group.resolve("memory.limit_in_bytes"), "9223372036854771712\n");
    Files.writeString(group.resolve("memory.usage_in_bytes"), "600\n");
    assertThat(Cgroup.read(membership("4:memory:/box\n0::/"), folder)).isNull();
    assertThat(Cgroup.read(folder.resolve("absent"), folder)).isNull();
  }

  @Test
  void theNodesOfAListAreItsNumbers() {
    assertThat(ProcFiles.numbers("0")).containsExactly(0);
    assertThat(ProcFiles.numbers("0-3,8,10-11\n")).containsExactly(0, 1, 2, 3, 8, 10, 11);
    assertThat(ProcFiles.numbers("")).isEmpty();
  }

  @Test
  void theLimitOfLockedMemoryIsReadFromTheProcessesLimits() {
    String head = "Limit                     Soft Limit           Hard Limit           Units     ";
    assertThat(
            HostPlatform.lockLimit(
                List.of(
                    head,
                    "Max processes             91921                91921                processes"
                        + " ",
                    "Max locked memory         8388608              unlimited            bytes  "
                        + "   ")))
        .isEqualTo(8388608);
    assertThat(
            HostPlatform.lockLimit(
                List.of(
                    "Max locked memory         unlimited            unlimited            bytes  "
                        + "   ")))
        .isEqualTo(Long.MAX_VALUE);
    assertThat(HostPlatform.lockLimit(List.of(head))).isZero();
  }

  @Test
  void theLimitThatTheSystemTellsIsTheOneInItsFileUnlessItDoesNotHold() {
    HostPlatform platform = HostPlatform.probe();
    Path file = Path.of("/proc/self/limits");
    assumeThat(file).exists();
    assertThat(platform.lockLimitBytes().orElseThrow())
        .isIn(HostPlatform.lockLimit(ProcFiles.lines(file)), Long.MAX_VALUE);
  }

  @Test
  void thePlatformSaysWhatItHasAndWhatItLacks() {
    HostPlatform platform = HostPlatform.probe();
    assertThat(Long.bitCount(platform.pageBytes())).isEqualTo(1);
    assertThat(platform.processors()).isPositive();
    assertThat(platform.describe())
        .containsKeys(
            "system",
            "processor",
            "transparent huge pages",
            "NUMA nodes",
            "NUMA policies",
            "page locking",
            "shared memory")
        .allSatisfy((name, text) -> assertThat(text).isNotBlank());
  }

  private Path membership(String lines) throws IOException {
    return Files.writeString(folder.resolve("membership"), lines + "\n");
  }
}
