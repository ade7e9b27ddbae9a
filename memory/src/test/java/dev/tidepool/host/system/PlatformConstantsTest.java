package dev.tidepool.host.system;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The numbers that the library uses on a platform are those of the platform's headers. */
class PlatformConstantsTest {
  /** What the code uses of each line of the table. */
  private static final Map<String, Function<Platform, OptionalLong>> USED = new TreeMap<>();

  private static <T> void uses(
      String expression, Function<Platform, Optional<T>> part, Function<T, Number> number) {
    USED.put(
        expression,
        platform ->
            part.apply(platform)
                .map(number)
                .map(value -> OptionalLong.of(value.longValue()))
                .orElse(OptionalLong.empty()));
  }

  /** A number that is the same wherever it is used. */
  private static void usesOnPosix(String expression, long value) {
    uses(expression, Platform::mapping, _ -> value);
  }

  private static void usesOnMacOs(String expression, long value) {
    uses(expression, platform -> Optional.of(platform).filter(Platform::isMacOs), _ -> value);
  }

  static {
    uses("MAP_PRIVATE | MAP_ANONYMOUS", Platform::mapping, Platform.Mapping::privateAnonymous);
    uses("MAP_NORESERVE", Platform::mapping, Platform.Mapping::noReserve);
    usesOnPosix("PROT_NONE", LibC.PROT_NONE);
    usesOnPosix("PROT_READ | PROT_WRITE", LibC.PROT_READ_WRITE);
    uses("MAP_HUGETLB", Platform::hugePages, Platform.HugePages::flag);
    uses("MAP_HUGE_SHIFT", Platform::hugePages, Platform.HugePages::sizeShift);
    uses("MADV_HUGEPAGE", Platform::hugePages, Platform.HugePages::use);
    uses("MADV_NOHUGEPAGE", Platform::hugePages, Platform.HugePages::avoid);
    uses("MADV_POPULATE_WRITE", Platform::hugePages, Platform.HugePages::populate);
    uses("MLOCK_ONFAULT", PlatformConstantsTest::lockedOnFault, Integer::valueOf);
    uses("RLIMIT_MEMLOCK", Platform::locking, Platform.Locking::limit);
    usesOnPosix("sizeof(struct rlimit)", LibC.LIMIT_BYTES);
    usesOnPosix("ENOMEM", LibC.ENOMEM);
    uses("__NR_mbind", Platform::numa, Platform.Numa::mbind);
    uses("__NR_set_mempolicy", Platform::numa, Platform.Numa::setPolicy);
    uses("__NR_get_mempolicy", Platform::numa, Platform.Numa::getPolicy);
    uses("O_RDONLY | O_CLOEXEC", Platform::files, Platform.FileFlags::read);
    uses("O_WRONLY | O_CLOEXEC", Platform::files, Platform.FileFlags::write);
    uses("FALLOC_FL_KEEP_SIZE", Platform::files, Platform.FileFlags::keepSize);
    uses("(SIGSYS > SIGUSR2 ? SIGSYS : SIGUSR2)", Platform::signals, Platform.Signals::last);
    uses("sizeof(struct sigaction)", Platform::signals, Platform.Signals::actionBytes);
    // The handler is before the mask, and the comparison takes both in.
    uses(
        "offsetof(struct sigaction, sa_mask)",
        Platform::signals,
        signals -> signals.comparedBytes() - Long.BYTES);
    usesOnMacOs("HOST_VM_INFO64", MacCalls.HOST_VM_INFO64);
    usesOnMacOs("HOST_VM_INFO64_REV1_COUNT", PageCounts.WORDS);
    usesOnMacOs("offsetof(struct vm_statistics64, free_count)", PageCounts.FREE);
    usesOnMacOs("offsetof(struct vm_statistics64, purgeable_count)", PageCounts.PURGEABLE);
    usesOnMacOs("offsetof(struct vm_statistics64, speculative_count)", PageCounts.READ_AHEAD);
    usesOnMacOs("offsetof(struct vm_statistics64, external_page_count)", PageCounts.FILE_BACKED);
  }

  private static Optional<Integer> lockedOnFault(Platform platform) {
    return platform
        .locking()
        .filter(locking -> locking.onFault().isPresent())
        .map(locking -> locking.onFault().getAsInt());
  }

  @TempDir Path folder;

  @Test
  void everyNumberIsInTheTableAndNothingElseIs() throws IOException {
    assertThat(ConstantTable.rows().stream().map(ConstantTable.Row::expression))
        .containsExactlyInAnyOrderElementsOf(USED.keySet());
  }

  @ParameterizedTest
  @CsvSource({
    "Linux, amd64, linux-x86_64",
    "Linux, x86_64, linux-x86_64",
    "Linux, aarch64, linux-aarch64",
    "Linux, riscv64, linux-aarch64",
    "Mac OS X, aarch64, macos",
    "Mac OS X, x86_64, macos"
  })
  void thePlatformsNumbersAreThoseOfTheTable(String name, String architecture, String column)
      throws IOException {
    Platform platform = Platform.of(name, architecture);
    for (ConstantTable.Row row : ConstantTable.rows()) {
      assertThat(USED.get(row.expression()).apply(platform))
          .as(row.expression())
          .isEqualTo(row.on(column));
    }
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void theTablesNumbersAreThoseOfThisMachinesHeaders() throws Exception {
    String column =
        switch (System.getProperty("os.arch")) {
          case "amd64" -> ConstantTable.LINUX_X86_64;
          case "aarch64" -> ConstantTable.LINUX_AARCH64;
          default -> "";
        };
    assumeTrue(!column.isEmpty(), "SKIPPED: the table has no column for this architecture");
    assertHeaders(column, ConstantTable.Row::header, "sys/types.h");
  }

  @Test
  @EnabledOnOs(OS.MAC)
  void theTablesNumbersAreThoseOfThisMacsHeaders() throws Exception {
    assertHeaders(ConstantTable.MACOS, ConstantTable.Row::header, "mach/mach.h");
  }

  @Test
  void theNumbersOfAArch64AreTheKernelsForArchitecturesWithoutTheirOwn() throws Exception {
    assumeTrue(
        Files.exists(Path.of("/usr/include/asm-generic/unistd.h")),
        "SKIPPED: the headers of the Linux kernel are not installed");
    assertHeaders(
        ConstantTable.LINUX_AARCH64, ConstantTable.Row::kernelHeader, "asm-generic/types.h");
  }

  private void assertHeaders(
      String column, Function<ConstantTable.Row, String> header, String first) throws Exception {
    List<ConstantTable.Row> rows =
        ConstantTable.rows().stream()
            .filter(row -> row.on(column).isPresent() && !header.apply(row).equals("-"))
            .toList();
    TreeSet<String> headers = new TreeSet<>(rows.stream().map(header).toList());
    headers.add(first);
    Map<String, Long> found =
        HeaderValues.of(folder, headers, rows.stream().map(ConstantTable.Row::expression).toList());
    assertThat(found).hasSameSizeAs(rows);
    for (ConstantTable.Row row : rows) {
      assertThat(found.get(row.expression()))
          .as(row.expression())
          .isEqualTo(row.on(column).getAsLong());
    }
  }
}
