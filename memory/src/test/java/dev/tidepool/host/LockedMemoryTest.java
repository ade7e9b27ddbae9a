package dev.tidepool.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a block says of page locking is what the system says of it. */
class LockedMemoryTest {
  private static final long MIB = 1 << 20;

  private final MemoryAllocator allocator = new MemoryAllocator();

  @ParameterizedTest
  @ValueSource(longs = {1, 65_536, 5 * MIB + 3})
  void theSystemKeepsALockedBlockInMemory(long bytes) throws Exception {
    assumeLocking();
    long before = ProcessMemory.locked();
    PinnedBudget budget = new PinnedBudget(8 * MIB);
    HostBlock block = allocator.allocateLocked(HostRequest.of(bytes), budget);
    long whole = (bytes + 4095) / 4096 * 4096;
    assertThat(block.backing().locked()).isTrue();
    assertThat(ProcessMemory.locked() - before).isEqualTo(whole);
    assertThat(ProcessMemory.figure(block.segment(), "Locked")).isEqualTo(whole);
    assertThat(ProcessMemory.figure(block.segment(), "Rss")).isEqualTo(whole);
    assertThat(block.residence().orElseThrow().lockedBytes()).isEqualTo(whole);
    assertThat(budget.usedBytes()).isEqualTo(whole);
    assertThat(allocator.statistics().locked()).isEqualTo(new UsageCounter(1, whole, whole, 1));
    MemoryAllocatorTest.writePattern(block.segment(), bytes);
    MemoryAllocatorTest.assertPattern(block.segment(), bytes);
    block.free();
    assertThat(ProcessMemory.locked()).isEqualTo(before);
    assertThat(budget.usedBytes()).isZero();
    assertThat(allocator.statistics().locked()).isEqualTo(new UsageCounter(0, 0, whole, 1));
  }

  @Test
  void beyondTheBudgetBlocksArePlainAndThatIsCounted() throws Exception {
    assumeLocking();
    PinnedBudget budget = new PinnedBudget(MIB);
    HostBlock first = allocator.allocateLocked(HostRequest.of(MIB), budget);
    HostBlock second = allocator.allocateLocked(HostRequest.of(MIB).on(PageKind.SMALL), budget);
    second.segment().fill((byte) 1);
    assertThat(second.backing().locked()).isFalse();
    assertThat(ProcessMemory.figure(second.segment(), "Locked")).isZero();
    assertThat(allocator.statistics().refusedLocks()).isEqualTo(1);
    assertThat(budget.usedBytes()).isEqualTo(MIB);
    first.free();
    second.free();
    assertThat(budget.usedBytes()).isZero();
  }

  @Test
  void whatTheSystemHasNoRoomForGivesTheBudgetBack() {
    PinnedBudget budget = new PinnedBudget(Long.MAX_VALUE);
    assertThat(allocator.tryAllocateLocked(HostRequest.of(1L << 46), budget))
        .isEqualTo(Optional.empty());
    assertThat(budget.usedBytes()).isZero();
    assertThat(allocator.statistics().refusedLocks()).isEqualTo(1);
    assertThat(allocator.statistics().allocated().totalBlocks()).isZero();
  }

  @Test
  void theSystemsLimitIsRespectedByAProcessWithoutPrivilege() throws Exception {
    assumeTrue(ProcessMemory.isTold(), "not Linux");
    Map<String, String> said = runLimited(256 << 10);
    assertThat(said.get("limit")).isEqualTo(String.valueOf(256 << 10));
    assertThat(said.get("within locked")).isEqualTo("true");
    assertThat(said.get("beyond locked")).isEqualTo("false");
    assertThat(said.get("beyond readable")).isEqualTo("true");
    assertThat(said.get("refused")).isEqualTo("1");
    assertThat(said.get("budget after")).isEqualTo("0");
    assertThat(said.get("kernel after")).isEqualTo("0");
  }

  @Test
  void aProcessThatMayLockNothingIsTold() throws Exception {
    assumeTrue(ProcessMemory.isTold(), "not Linux");
    Map<String, String> said = runLimited(0);
    assertThat(said.get("locking")).isEqualTo("false");
    assertThat(said.get("within locked")).isEqualTo("false");
    assertThat(said.get("refused")).isEqualTo("2");
  }

  /** The program of the process with a limit; prints what it sees. */
  static final class Limited {
    private Limited() {}

    public static void main(String[] arguments) throws IOException {
      HostPlatform platform = HostPlatform.probe();
      System.out.println("locking=" + platform.pageLocking());
      System.out.println("limit=" + platform.lockLimitBytes().orElse(-1));
      MemoryAllocator allocator = new MemoryAllocator();
      PinnedBudget budget = new PinnedBudget(64 * MIB);
      HostBlock within = allocator.allocateLocked(HostRequest.of(128 << 10), budget);
      System.out.println("within locked=" + within.backing().locked());
      HostBlock beyond = allocator.allocateLocked(HostRequest.of(4 * MIB), budget);
      System.out.println("beyond locked=" + beyond.backing().locked());
      MemoryAllocatorTest.writePattern(beyond.segment(), 1);
      MemoryAllocatorTest.assertPattern(beyond.segment(), 1);
      System.out.println("beyond readable=true");
      System.out.println("refused=" + allocator.statistics().refusedLocks());
      within.free();
      beyond.free();
      System.out.println("budget after=" + budget.usedBytes());
      System.out.println("kernel after=" + ProcessMemory.locked());
    }
  }

  private static Map<String, String> runLimited(long limit) throws Exception {
    List<String> command = new ArrayList<>();
    if (isPrivileged()) {
      assumeTrue(
          Files.exists(Path.of("/usr/bin/setpriv")),
          "SKIPPED: this process may ignore the limit, and there is no setpriv to give that up");
      command.addAll(List.of("setpriv", "--bounding-set=-ipc_lock", "--inh-caps=-ipc_lock"));
    }
    assumeTrue(Files.exists(Path.of("/usr/bin/prlimit")), "SKIPPED: no prlimit here");
    command.addAll(List.of("prlimit", "--memlock=" + limit + ":" + limit));
    return ChildProcess.run(command, List.of(), Limited.class);
  }

  private static boolean isPrivileged() throws IOException {
    return Files.readAllLines(Path.of("/proc/self/status")).stream()
        .filter(line -> line.startsWith("CapEff:"))
        .map(line -> Long.parseUnsignedLong(line.substring(7).strip(), 16))
        .anyMatch(capabilities -> (capabilities >>> 14 & 1) != 0);
  }

  private static void assumeLocking() {
    assumeTrue(ProcessMemory.isTold(), "not Linux");
    assumeTrue(HostPlatform.probe().pageLocking(), "SKIPPED: the system locks no pages");
  }
}
