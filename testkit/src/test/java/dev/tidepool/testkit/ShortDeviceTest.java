package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A device whose memory is nearly used up gets idle blocks back, however young they are. */
class ShortDeviceTest {
  private static final long MEBIBYTE = 1 << 20;

  @Test
  void idleBlocksGoBackWhenTheDeviceIsNearlyFull() {
    SimulatedProvider simulated =
        new SimulatedProvider(SimulatedHardware.discrete().withMemory(64 * MEBIBYTE));
    MemoryOptions options = MemoryOptions.builder().maxPoolBytes(32 * MEBIBYTE).build();
    try (Tidepool tidepool = Discovery.using(List.of(simulated), () -> Tidepool.open(options))) {
      UnifiedMemoryManager memory = tidepool.memory();
      try (UnifiedBuffer<byte[]> roomy = memory.allocate(ElementType.BYTE, 30 * MEBIBYTE)) {
        memory.allocate(ElementType.BYTE, 28 * MEBIBYTE).close();
        assertThat(memory.statistics().totalPooled()).isEqualTo(28 * MEBIBYTE);
        // 6 of 64 MiB are free, then 3: less than a sixteenth.
        try (UnifiedBuffer<byte[]> last = memory.allocate(ElementType.BYTE, 3 * MEBIBYTE)) {
          await()
              .atMost(Duration.ofSeconds(30))
              .until(() -> simulated.device("simulated:0").liveBlocks() == 2);
          assertThat(memory.statistics().totalPooled()).isZero();
          assertThat(last.byteSize() + roomy.byteSize()).isEqualTo(33 * MEBIBYTE);
        }
      }
    }
  }
}
