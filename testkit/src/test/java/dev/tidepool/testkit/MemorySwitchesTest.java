package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.diagnostics.MemoryPressure;
import dev.tidepool.pooling.PoolStatistics;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Switches of options change what memory is taken and how long it is kept. */
class MemorySwitchesTest {
  private static final int MIB = 1 << 20;

  private static Tidepool open(SimulatedHardware hardware, MemoryOptions.Builder options) {
    return Discovery.using(
        List.of(new SimulatedProvider(hardware)), () -> Tidepool.open(options.build()));
  }

  private static long idle(UnifiedMemoryManager memory, String kind) {
    return memory.pools().stream()
        .filter(pool -> pool.name().endsWith(kind))
        .mapToLong(PoolStatistics::idleBytes)
        .sum();
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void pinnedMemoryIsForBuffersAndTransfers(boolean pinned) {
    try (Tidepool tidepool =
        open(SimulatedHardware.discrete(), MemoryOptions.builder().pinnedMemory(pinned))) {
      UnifiedMemoryManager memory = tidepool.memory();
      byte[] bytes = new byte[4 * MIB];
      bytes[MIB] = 42;
      try (UnifiedBuffer<byte[]> locked =
              memory.allocate(ElementType.BYTE, MIB, MemoryLocation.PINNED);
          UnifiedBuffer<byte[]> device = memory.allocate(ElementType.BYTE, bytes.length)) {
        locked.fill((byte) 1);
        device.copyFrom(bytes);
        byte[] seen = new byte[bytes.length];
        device.copyTo(seen);
        assertThat(seen[MIB]).isEqualTo((byte) 42);
        assertThat(memory.statistics().pinnedBytes() > 0).isEqualTo(pinned);
        assertThat(memory.statistics().pinnedFallbacks()).isEqualTo(pinned ? 0 : 1);
      }
    }
  }

  @Test
  void aManagerMayDoWithoutPinnedMemoryBesideOthersThatHaveIt() {
    try (Tidepool tidepool = open(SimulatedHardware.discrete(), MemoryOptions.builder());
        UnifiedMemoryManager without =
            UnifiedMemoryManager.create(
                tidepool.accelerators().getFirst(),
                MemoryOptions.builder().pinnedMemory(false).build());
        UnifiedBuffer<byte[]> plain =
            without.allocate(ElementType.BYTE, MIB, MemoryLocation.PINNED);
        UnifiedBuffer<byte[]> locked =
            tidepool.memory().allocate(ElementType.BYTE, MIB, MemoryLocation.PINNED)) {
      plain.fill((byte) 1);
      locked.copyFrom(plain);
      assertThat(without.statistics().pinnedFallbacks()).isEqualTo(1);
      assertThat(tidepool.memory().statistics().pinnedFallbacks()).isZero();
    }
  }

  @ParameterizedTest
  @CsvSource({"-1, 4", "2097152, 2", "0, 0"})
  void aPoolOfPinnedMemoryKeepsAsMuchAsItsOptionSays(long bytes, int kept) {
    try (Tidepool tidepool =
        open(SimulatedHardware.discrete(), MemoryOptions.builder().pinnedPoolBytes(bytes))) {
      UnifiedMemoryManager memory = tidepool.memory();
      for (MemoryLocation location : List.of(MemoryLocation.PINNED, MemoryLocation.DEVICE)) {
        List<UnifiedBuffer<byte[]>> buffers = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
          buffers.add(memory.allocate(ElementType.BYTE, MIB, location));
        }
        buffers.forEach(UnifiedBuffer::close);
      }
      assertThat(idle(memory, "PINNED")).isEqualTo((long) kept * MIB);
      // Other pools keep what max-pool-bytes says.
      assertThat(idle(memory, "DEVICE")).isEqualTo(4L * MIB);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void idleBlocksGoBackUnderPressureIfTheyAreToGo(boolean trims) {
    Queue<MemoryPressure> heard = new ConcurrentLinkedQueue<>();
    try (Tidepool tidepool =
        open(
            SimulatedHardware.discrete().withMemory(64L * MIB),
            MemoryOptions.builder()
                .trimOnPressure(trims)
                .trimInterval(Duration.ZERO)
                .pressureListener(heard::add))) {
      UnifiedMemoryManager memory = tidepool.memory();
      try (UnifiedBuffer<byte[]> _ = memory.allocate(ElementType.BYTE, 28L * MIB);
          UnifiedBuffer<byte[]> _ = memory.allocate(ElementType.BYTE, 28L * MIB)) {
        memory.allocate(ElementType.BYTE, 6 * MIB).close();
        if (trims) {
          await()
              .atMost(Duration.ofSeconds(60))
              .untilAsserted(() -> assertThat(idle(memory, "DEVICE")).isZero());
        } else {
          // The device is heard of after pools are trimmed, by the same thread.
          await()
              .atMost(Duration.ofSeconds(60))
              .until(
                  () ->
                      heard.stream()
                          .anyMatch(each -> each.source() == MemoryPressure.Source.DEVICE));
          assertThat(idle(memory, "DEVICE")).isGreaterThanOrEqualTo(6L * MIB);
        }
      }
    }
  }
}
