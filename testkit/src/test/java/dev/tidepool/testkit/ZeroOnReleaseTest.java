package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.NativeAccess;
import dev.tidepool.NativeUse;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.spi.HostAccess;
import dev.tidepool.testkit.fault.Failure;
import dev.tidepool.testkit.fault.FaultInjector;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** With {@code zeroOnRelease} nobody gets another's bytes, whatever memory they lay in. */
@ExtendWith(QuietLog.class)
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

  @Test
  void aBlockThatCouldNotBeClearedIsNotUsedAgain() {
    int small = 16 << 10;
    FaultInjector faults = new FaultInjector(new SimulatedProvider(SimulatedHardware.discrete()));
    MemoryOptions options = MemoryOptions.builder().zeroOnRelease(true).build();
    try (Tidepool tidepool = Discovery.using(List.of(faults), () -> Tidepool.open(options))) {
      UnifiedMemoryManager memory = tidepool.memory();
      List<UnifiedBuffer<byte[]>> scattered = new ArrayList<>();
      List<NativeAccess> lent = new ArrayList<>();
      for (int i = 0; i < 2048; i++) {
        UnifiedBuffer<byte[]> buffer =
            memory.allocate(ElementType.BYTE, small, MemoryLocation.DEVICE);
        buffer.fill((byte) 42);
        scattered.add(buffer);
      }
      for (int i = 0; i < scattered.size(); i++) {
        if (i % 64 == 32) {
          // What is lent is not moved, so that what was around it is taken again.
          lent.add(memory.lend(NativeUse.read(scattered.get(i))));
        } else if (i % 4 != 0) {
          scattered.get(i).close();
        }
      }
      faults.failAlways(SpiCall.FILL, Failure.REFUSED);
      assertThat(memory.defragment().movedBuffers()).isPositive();
      assertThat(faults.fired()).contains(SpiCall.FILL);
      faults.disarm();
      long hits = memory.statistics().poolHits();
      byte[] found = new byte[small];
      for (int i = 0; i < 1024; i++) {
        memory.allocate(ElementType.BYTE, small, MemoryLocation.DEVICE).copyTo(found);
        assertThat(found).as("buffer " + i).doesNotContain((byte) 42);
      }
      assertThat(memory.statistics().poolHits()).isGreaterThan(hits + 512);
      lent.forEach(NativeAccess::close);
    }
  }
}
