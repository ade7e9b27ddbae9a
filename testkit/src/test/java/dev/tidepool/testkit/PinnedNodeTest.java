package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.tidepool.Allocation;
import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.host.HostPlatform;
import dev.tidepool.host.NumaPolicy;
import dev.tidepool.host.ThreadNumaPolicy;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.simulated.SimulatedDevice;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Page-locked memory comes from the device's NUMA node, and its pools hold memory of one node. */
class PinnedNodeTest {
  private static final int BYTES = 1 << 20;

  private final HostPlatform platform = HostPlatform.probe();
  private final int node = platform.numaNodes().getFirst();

  @BeforeEach
  void onlyWhereThereArePolicies() {
    assumeTrue(platform.numaPolicies(), "SKIPPED: the system has or allows no NUMA policies");
  }

  private static SimulatedProvider provider(SimulatedHardware hardware) {
    return new SimulatedProvider(hardware);
  }

  private static Tidepool open(SimulatedProvider provider) {
    return Discovery.using(List.of(provider), Tidepool::open);
  }

  @Test
  void itIsAllocatedOnTheDevicesNodeAndTheThreadKeepsItsPolicy() {
    SimulatedProvider provider = provider(SimulatedHardware.discrete().withNumaNode(node));
    NumaPolicy before = ThreadNumaPolicy.policy();
    try (Tidepool tidepool = open(provider)) {
      tidepool.memory().allocate(ElementType.BYTE, BYTES, MemoryLocation.PINNED).close();
    }
    assertThat(device(provider).lockedUnder()).isEqualTo(NumaPolicy.preferred(node));
    assertThat(ThreadNumaPolicy.policy()).isEqualTo(before);
  }

  @Test
  void stagingIsToo() {
    SimulatedProvider provider = provider(SimulatedHardware.discrete().withNumaNode(node));
    try (Tidepool tidepool = open(provider);
        UnifiedBuffer<byte[]> buffer =
            tidepool.memory().allocate(ElementType.BYTE, BYTES, MemoryLocation.DEVICE)) {
      buffer.copyFrom(new byte[BYTES]);
    }
    assertThat(device(provider).lockedUnder()).isEqualTo(NumaPolicy.preferred(node));
  }

  @Test
  void aDeviceThatNamesNoNodeHasItAnywhere() {
    SimulatedProvider provider = provider(SimulatedHardware.discrete());
    try (Tidepool tidepool = open(provider)) {
      tidepool.memory().allocate(ElementType.BYTE, BYTES, MemoryLocation.PINNED).close();
    }
    assertThat(device(provider).lockedUnder()).isEqualTo(ThreadNumaPolicy.policy());
  }

  @Test
  void aNodeThatThisProcessHasNotIsNoError() {
    SimulatedProvider provider = provider(SimulatedHardware.discrete().withNumaNode(4242));
    NumaPolicy before = ThreadNumaPolicy.policy();
    try (Tidepool tidepool = open(provider)) {
      tidepool.memory().allocate(ElementType.BYTE, BYTES, MemoryLocation.PINNED).close();
    }
    assertThat(device(provider).lockedUnder()).isEqualTo(before);
    assertThat(ThreadNumaPolicy.policy()).isEqualTo(before);
  }

  @Test
  void aVirtualThreadsCarrierKeepsItsPolicy() throws InterruptedException {
    SimulatedProvider provider = provider(SimulatedHardware.discrete().withNumaNode(node));
    try (Tidepool tidepool = open(provider)) {
      Thread.startVirtualThread(
              () -> {
                tidepool.memory().allocate(ElementType.BYTE, BYTES, MemoryLocation.PINNED).close();
              })
          .join();
    }
    assertThat(device(provider).lockedUnder()).isEqualTo(NumaPolicy.preferred(node));
    assertThat(device(provider).lockedBy()).isNotNull().matches(thread -> !thread.isVirtual());
  }

  @Test
  void blocksOfANodeArePooledAndNeverServeOthers() {
    SimulatedProvider provider = provider(SimulatedHardware.discrete());
    try (Tidepool tidepool = open(provider)) {
      UnifiedMemoryManager memory = tidepool.memory();
      Allocation onNode = Allocation.at(MemoryLocation.PINNED).onNode(node);
      memory.allocate(ElementType.BYTE, BYTES, onNode).close();
      assertThat(device(provider).lockedUnder()).isEqualTo(NumaPolicy.preferred(node));
      long calls = memory.statistics().driverAllocations();
      memory.allocate(ElementType.BYTE, BYTES, onNode).close();
      assertThat(memory.statistics().driverAllocations()).isEqualTo(calls);
      memory.allocate(ElementType.BYTE, BYTES, MemoryLocation.PINNED).close();
      assertThat(memory.statistics().driverAllocations()).isEqualTo(calls + 1);
      assertThat(device(provider).lockedUnder()).isEqualTo(ThreadNumaPolicy.policy());
    }
    assertThat(device(provider).liveBlocks()).isZero();
  }

  @Test
  void theDevicesOwnNodeIsItsPoolsAnyway() {
    SimulatedProvider provider = provider(SimulatedHardware.discrete().withNumaNode(node));
    try (Tidepool tidepool = open(provider)) {
      UnifiedMemoryManager memory = tidepool.memory();
      memory.allocate(ElementType.BYTE, BYTES, MemoryLocation.PINNED).close();
      long calls = memory.statistics().driverAllocations();
      memory
          .allocate(ElementType.BYTE, BYTES, Allocation.at(MemoryLocation.PINNED).onNode(node))
          .close();
      assertThat(memory.statistics().driverAllocations()).isEqualTo(calls);
    }
  }

  @Test
  void whatLiesIdleOfOneNodeKeepsNobodyFromPageLocking() {
    SimulatedProvider provider = provider(SimulatedHardware.discrete());
    MemoryOptions options = MemoryOptions.builder().pinnedLimit(BYTES).build();
    try (Tidepool tidepool = Discovery.using(List.of(provider), () -> Tidepool.open(options))) {
      UnifiedMemoryManager memory = tidepool.memory();
      Allocation onNode = Allocation.at(MemoryLocation.PINNED).onNode(node);
      memory.allocate(ElementType.BYTE, BYTES, onNode).close();
      memory.allocate(ElementType.BYTE, BYTES, MemoryLocation.PINNED).close();
      memory.allocate(ElementType.BYTE, BYTES, onNode).close();
      assertThat(memory.statistics().pinnedFallbacks()).isZero();
    }
  }

  private static SimulatedDevice device(SimulatedProvider provider) {
    return provider.devices().getFirst();
  }
}
