package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Plain memory of the host is pooled once for all managers of a Tidepool. */
class SharedHostPoolTest {
  private static final int MEBIBYTE = 1 << 20;

  private final SimulatedProvider simulated =
      new SimulatedProvider(SimulatedHardware.discrete().withPinned(0));

  private Tidepool open(MemoryOptions options) {
    return Discovery.using(List.of(simulated), () -> Tidepool.open(options));
  }

  @Test
  void whatOneManagerGaveBackServesAnother() {
    try (Tidepool tidepool = open(MemoryOptions.defaults())) {
      UnifiedMemoryManager cpu = tidepool.memory(tidepool.accelerator("cpu:0"));
      UnifiedMemoryManager device = tidepool.memory(tidepool.accelerator("simulated:0"));
      cpu.allocate(ElementType.BYTE, 3 * MEBIBYTE).close();
      device.allocate(ElementType.BYTE, 3 * MEBIBYTE, MemoryLocation.HOST).close();
      assertThat(device.statistics().poolHits()).isEqualTo(1);
      assertThat(device.statistics().driverAllocations()).isZero();
      assertThat(cpu.statistics().poolHits()).isZero();
    }
  }

  @Test
  void itServesTheStagingOfADeviceThatGetsNoPinnedMemory() {
    MemoryOptions options = MemoryOptions.builder().stagingChunk(MEBIBYTE).build();
    try (Tidepool tidepool = open(options)) {
      UnifiedMemoryManager device = tidepool.memory(tidepool.accelerator("simulated:0"));
      try (UnifiedBuffer<byte[]> buffer = device.allocate(ElementType.BYTE, 4 * MEBIBYTE)) {
        byte[] bytes = new byte[4 * MEBIBYTE];
        bytes[3 * MEBIBYTE] = 7;
        buffer.copyFrom(bytes);
        byte[] seen = new byte[4 * MEBIBYTE];
        buffer.copyTo(seen);
        assertThat(seen).isEqualTo(bytes);
      }
      UnifiedMemoryManager cpu = tidepool.memory(tidepool.accelerator("cpu:0"));
      cpu.allocate(ElementType.BYTE, MEBIBYTE).close();
      assertThat(cpu.statistics().poolHits()).isEqualTo(1);
    }
    assertThat(simulated.violations()).isEmpty();
  }

  @Test
  void theBudgetOfIdleHostMemoryIsOneForAllManagers() {
    MemoryOptions options =
        MemoryOptions.builder().maxPoolBytes(4 * MEBIBYTE).keptPoolBytes(0).build();
    try (Tidepool tidepool = open(options)) {
      UnifiedMemoryManager cpu = tidepool.memory(tidepool.accelerator("cpu:0"));
      UnifiedMemoryManager device = tidepool.memory(tidepool.accelerator("simulated:0"));
      cpu.allocate(ElementType.BYTE, 3 * MEBIBYTE).close();
      device.allocate(ElementType.BYTE, 2 * MEBIBYTE, MemoryLocation.HOST).close();
      assertThat(cpu.statistics().totalPooled()).isEqualTo(2 * MEBIBYTE);
      assertThat(device.statistics().totalPooled()).isEqualTo(2 * MEBIBYTE);
    }
  }

  @Test
  void aManagerThatClosesLeavesThePoolToTheOthers() {
    try (Tidepool tidepool = open(MemoryOptions.defaults())) {
      UnifiedMemoryManager cpu = tidepool.memory(tidepool.accelerator("cpu:0"));
      UnifiedMemoryManager device = tidepool.memory(tidepool.accelerator("simulated:0"));
      try (UnifiedBuffer<int[]> kept = cpu.allocate(ElementType.INT, MEBIBYTE)) {
        device.allocate(ElementType.INT, MEBIBYTE, MemoryLocation.HOST);
        device.close();
        assertThat(device.statistics().activeBuffers()).isZero();
        assertThat(device.statistics().totalPooled()).isZero();
        kept.fill((byte) 1);
        int[] seen = new int[MEBIBYTE];
        kept.copyTo(seen);
        assertThat(seen).containsOnly(0x01010101);
        cpu.allocate(ElementType.INT, MEBIBYTE).close();
        assertThat(cpu.statistics().poolHits()).isEqualTo(1);
      }
    }
  }

  @Test
  void aFullDeviceGetsTheIdleBlocksOfEveryManagerOnIt() {
    SimulatedProvider small =
        new SimulatedProvider(
            SimulatedHardware.discrete()
                .withMemory(4 * MEBIBYTE)
                .withMaximumAllocation(4 * MEBIBYTE));
    MemoryOptions options = MemoryOptions.builder().maxPoolBytes(4 * MEBIBYTE).build();
    try (Tidepool tidepool = Discovery.using(List.of(small), () -> Tidepool.open(options));
        UnifiedMemoryManager other =
            UnifiedMemoryManager.create(tidepool.accelerator("simulated:0"), options)) {
      UnifiedMemoryManager memory = tidepool.memory();
      memory.allocate(ElementType.BYTE, 3 * MEBIBYTE).close();
      try (UnifiedBuffer<byte[]> buffer = other.allocate(ElementType.BYTE, 2 * MEBIBYTE)) {
        assertThat(buffer.byteSize()).isEqualTo(2 * MEBIBYTE);
      }
    }
  }
}
