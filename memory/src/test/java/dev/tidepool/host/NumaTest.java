package dev.tidepool.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Where a block's pages come from is what the kernel has for their addresses. */
class NumaTest {
  private static final long MIB = 1 << 20;
  private static final int NODE = HostPlatform.probe().numaNodes().getFirst();

  private final MemoryAllocator allocator = new MemoryAllocator();

  /** A policy, the kernel's number for it, and its name in {@code numa_maps}. */
  record Expected(NumaPolicy policy, int mode, String name) {}

  static Stream<Expected> policies() {
    int[] all =
        HostPlatform.probe().numaNodes().stream().mapToInt(Integer::intValue).limit(64).toArray();
    return Stream.of(
        new Expected(NumaPolicy.preferred(NODE), 1, "prefer:"),
        new Expected(NumaPolicy.bind(NODE), 2, "bind:"),
        new Expected(NumaPolicy.interleave(all), 3, "interleave:"));
  }

  @ParameterizedTest
  @MethodSource("policies")
  void theKernelHasThePolicyForEveryPageOfTheBlock(Expected expected) throws Exception {
    assumePolicies();
    long nodes = expected.policy().nodes().stream().mapToLong(node -> 1L << node).sum();
    for (HostRequest request :
        List.of(
            HostRequest.of(100),
            HostRequest.of(3 * MIB + 1),
            HostRequest.of(MIB).on(PageKind.SMALL).aligned(8 * MIB),
            HostRequest.of(4 * MIB).on(PageKind.TRANSPARENT_HUGE))) {
      HostBlock block = allocator.allocate(request.from(expected.policy()));
      block.segment().fill((byte) 1);
      long start = block.segment().address();
      for (long at = 0; at < request.bytes(); at += 4096) {
        assertThat(ProcessMemory.policyAt(start + at))
            .isEqualTo(new ProcessMemory.Policy(expected.mode(), nodes));
      }
      assertThat(ProcessMemory.numaLine(block.segment())).contains(" " + expected.name());
      assertThat(block.backing().numa()).isEqualTo(expected.policy());
      PageResidency residence = block.residence().orElseThrow();
      assertThat(residence.residentBytes()).isGreaterThanOrEqualTo(request.bytes());
      assertThat(residence.bytesByNode().values().stream().mapToLong(Long::longValue).sum())
          .isEqualTo(residence.residentBytes());
      if (expected.mode() == 2) {
        assertThat(residence.bytesByNode()).containsOnlyKeys(NODE);
      }
      block.free();
    }
    assertThat(allocator.statistics().refusedPolicies()).isZero();
  }

  @Test
  void aBlockWithoutAPolicyHasNone() {
    assumePolicies();
    HostBlock block = allocator.allocate(HostRequest.of(4 * MIB).on(PageKind.SMALL));
    assertThat(ProcessMemory.policyAt(block.segment().address()).mode()).isZero();
    assertThat(block.backing().numa()).isEqualTo(NumaPolicy.LOCAL);
    block.free();
  }

  @Test
  void aPolicyEndsWithItsBlockAndDoesNotFollowTheThread() {
    assumePolicies();
    allocator.allocate(HostRequest.of(4 * MIB).from(NumaPolicy.bind(NODE))).free();
    HostBlock next = allocator.allocate(4 * MIB);
    assertThat(ProcessMemory.policyAt(next.segment().address()).mode()).isZero();
    next.free();
  }

  @Test
  void lockedBlocksHaveTheirPolicyBeforeTheirPages() {
    assumePolicies();
    assumeTrue(HostPlatform.probe().pageLocking(), "the system locks no pages");
    PinnedBudget budget = new PinnedBudget(MIB);
    HostBlock block =
        allocator
            .tryAllocateLocked(HostRequest.of(MIB).from(NumaPolicy.bind(NODE)), budget)
            .orElseThrow();
    assertThat(ProcessMemory.policyAt(block.segment().address()).mode()).isEqualTo(2);
    assertThat(block.backing().locked()).isTrue();
    assertThat(block.residence().orElseThrow().bytesByNode()).isEqualTo(Map.of(NODE, MIB));
    block.free();
  }

  @ParameterizedTest
  @ValueSource(ints = {4242, 1_000_000, Integer.MAX_VALUE})
  void aNodeThatDoesNotExistIsRefusedWithThoseThatDo(int node) {
    AllocatorStatistics before = allocator.statistics();
    for (NumaPolicy policy :
        List.of(
            NumaPolicy.preferred(node), NumaPolicy.bind(NODE, node), NumaPolicy.interleave(node))) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> allocator.allocate(HostRequest.of(100).from(policy)))
          .withMessageContaining("no NUMA node " + node)
          .withMessageContaining("the nodes are " + NODE);
    }
    assertThat(allocator.statistics()).isEqualTo(before);
  }

  @Test
  void aPolicyNamesAsManyNodesAsItsModeTakes() {
    assertThatIllegalArgumentException().isThrownBy(() -> NumaPolicy.preferred(-1));
    assertThatIllegalArgumentException().isThrownBy(NumaPolicy::bind);
    assertThatIllegalArgumentException().isThrownBy(NumaPolicy::interleave);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new NumaPolicy(NumaPolicy.Mode.PREFERRED, List.of(0, 1)))
        .withMessageContaining("PREFERRED");
    assertThat(NumaPolicy.bind(3, 1, 3)).isEqualTo(NumaPolicy.bind(1, 3));
  }

  /** Older kernels tell of a policy for the local node as one that prefers no node. */
  @Test
  void aPolicyWithoutNodesIsTheLocalOne() {
    int staticNodes = 1 << 15;
    assertThat(NumaCalls.policy(1, List.of())).isEqualTo(NumaPolicy.LOCAL);
    assertThat(NumaCalls.policy(0, List.of())).isEqualTo(NumaPolicy.LOCAL);
    assertThat(NumaCalls.policy(4, List.of())).isEqualTo(NumaPolicy.LOCAL);
    assertThat(NumaCalls.policy(1 | staticNodes, List.of(3))).isEqualTo(NumaPolicy.preferred(3));
    assertThat(NumaCalls.policy(2, List.of(1, 3))).isEqualTo(NumaPolicy.bind(1, 3));
    assertThat(NumaCalls.policy(3, List.of(0, 1))).isEqualTo(NumaPolicy.interleave(0, 1));
  }

  @Test
  void withoutNumaCallsMemoryIsPlainAndThatIsCounted() {
    MemoryAllocator plain = new MemoryAllocator(false);
    HostBlock block = plain.allocate(HostRequest.of(100).from(NumaPolicy.bind(NODE)));
    block.segment().fill((byte) 1);
    assertThat(block.backing().numa()).isEqualTo(NumaPolicy.LOCAL);
    assertThat(plain.statistics().refusedPolicies()).isEqualTo(1);
    block.free();
  }

  /** The program on an architecture whose calls have no known numbers. */
  static final class Unknown {
    private Unknown() {}

    public static void main(String[] arguments) {
      HostPlatform platform = HostPlatform.probe();
      System.out.println("policies=" + platform.numaPolicies());
      System.out.println("told=" + platform.describe().get("NUMA policies"));
      MemoryAllocator allocator = new MemoryAllocator();
      HostBlock block = allocator.allocate(HostRequest.of(MIB).from(NumaPolicy.bind(NODE)));
      block.segment().fill((byte) 1);
      System.out.println("numa=" + block.backing().numa().mode());
      System.out.println("refused=" + allocator.statistics().refusedPolicies());
    }
  }

  @Test
  void whereTheSystemHasNoNumaCallsMemoryIsPlainAndThePlatformSaysSo() throws Exception {
    assertThat(ChildProcess.run(List.of(), List.of("-Dos.arch=unknown"), Unknown.class))
        .containsEntry("policies", "false")
        .containsEntry("told", "absent or forbidden: memory comes from any node")
        .containsEntry("numa", "LOCAL")
        .containsEntry("refused", "1");
  }

  @Test
  void whatANodeHasFreeCountsItsFileCaches() {
    List<String> lines =
        List.of(
            "Node 1 MemTotal:       24683716 kB",
            "Node 1 MemFree:             100 kB",
            "Node 1 Active(file):         20 kB",
            "Node 1 Inactive(file):        3 kB",
            "Node 1 Active(anon):       5000 kB",
            "Node 1 SReclaimable:          1 kB",
            "Node 1 SUnreclaim:         7000 kB");
    assertThat(NumaNodes.freeBytes(lines, 1)).isEqualTo(124 * 1024);
    assertThat(NumaNodes.freeBytes(lines, 2)).isZero();
  }

  @Test
  void whatTheNodesHaveFreeIsAPartOfTheMachinesMemory() {
    assumePolicies();
    assertThat(NumaNodes.freeBytes(NumaNodes.usable()))
        .isBetween(MIB, HostMemory.now().totalBytes());
  }

  @Test
  void memoryOfAMappingIsReadFromTheSystemsFiles() {
    List<String> maps =
        List.of(
            "1000-3000 rw-p 00000000 00:00 0",
            "Rss:                   8 kB",
            "AnonHugePages:         4 kB",
            "Locked:                4 kB",
            "VmFlags: rd wr",
            "3000-5000 rw-p 00000000 00:00 0",
            "Rss:                   8 kB",
            "Private_Hugetlb:       0 kB",
            "7000-9000 rw-p 00000000 08:01 77    /a-b c",
            "Rss:                 800 kB");
    List<String> nodes =
        List.of("1000 bind:0 anon=2 dirty=2 N0=1 N3=1 kernelpagesize_kB=4", "3000 bind:0 anon=2");
    assertThat(PageResidency.read(0x1000, 0x4000, maps, nodes))
        .contains(new PageResidency(16384, 4096, 4096, Map.of(0, 4096L, 3, 4096L)));
    assertThat(PageResidency.read(0x1000, 0x1000, maps, nodes)).isEmpty();
    assertThat(PageResidency.read(0x2000, 0x3000, maps, nodes)).isEmpty();
    assertThat(PageResidency.read(0x1000, 0x6000, maps, nodes)).isEmpty();
    assertThat(PageResidency.read(0x1000, 0x4000, List.of(), List.of())).isEmpty();
  }

  private static void assumePolicies() {
    assumeTrue(
        HostPlatform.probe().numaPolicies(), "SKIPPED: the system has or allows no NUMA policies");
  }
}
