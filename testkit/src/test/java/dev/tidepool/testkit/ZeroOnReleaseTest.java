package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.spi.HostAccess;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** With {@code zeroOnRelease} nobody gets another's bytes, whatever memory they lay in. */
class ZeroOnReleaseTest {
  @ParameterizedTest
  @EnumSource(HostAccess.class)
  void aBufferOfADeviceIsClearedBeforeItsBlockIsUsedAgain(HostAccess access) {
    SimulatedProvider simulated =
        new SimulatedProvider(SimulatedHardware.discrete().withHostAccess(access));
    MemoryOptions options = MemoryOptions.builder().zeroOnRelease(true).build();
    try (Tidepool tidepool = Discovery.using(List.of(simulated), () -> Tidepool.open(options))) {
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("simulated:0"));
      for (MemoryLocation location : MemoryLocation.values()) {
        for (int bytes : new int[] {100, 1 << 20}) {
          expectCleared(memory, bytes, location);
        }
      }
    }
    assertThat(simulated.violations()).isEmpty();
  }

  private static void expectCleared(
      UnifiedMemoryManager memory, int bytes, MemoryLocation location) {
    byte[] pattern = new byte[bytes];
    Arrays.fill(pattern, (byte) 42);
    try (UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, bytes, location)) {
      buffer.copyFrom(pattern);
    }
    long hits = memory.statistics().poolHits();
    byte[] found = new byte[bytes];
    try (UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, bytes, location)) {
      assertThat(memory.statistics().poolHits()).isGreaterThan(hits);
      buffer.copyTo(found);
    }
    assertThat(found).as(bytes + " bytes in " + location).containsOnly(0);
  }
}
