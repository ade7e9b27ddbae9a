package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.spi.HostAccess;
import dev.tidepool.testkit.conformance.Patterns;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Work over buffers of two devices that both have room for one of them only. */
@ExtendWith(QuietLog.class)
@Timeout(120)
class AdmissionOverDevicesTest {
  private static final int MEBIBYTE = 1 << 20;
  private static final int INTS = MEBIBYTE / 4;
  private static final int ROUNDS = 60;

  @TempDir Path directory;

  @Test
  void copiesInBothDirectionsGetWhatTheyNeedOneAfterTheOther() {
    SimulatedHardware hardware = SimulatedHardware.discrete().withHostAccess(HostAccess.DIRECT);
    SimulatedProvider simulated = new SimulatedProvider(hardware, hardware);
    MemoryOptions options =
        MemoryOptions.builder().memoryLimit(MEBIBYTE).spillDirectory(directory).build();
    try (Tidepool tidepool = Discovery.using(List.of(simulated), () -> Tidepool.open(options))) {
      UnifiedMemoryManager one = tidepool.memory(tidepool.accelerator("simulated:0"));
      UnifiedMemoryManager two = tidepool.memory(tidepool.accelerator("simulated:1"));
      // The older of each pair is on another device: work sees to the older one first.
      UnifiedBuffer<int[]> there = one.allocate(ElementType.INT, INTS);
      UnifiedBuffer<int[]> back = two.allocate(ElementType.INT, INTS);
      UnifiedBuffer<int[]> fromThere = two.allocate(ElementType.INT, INTS);
      UnifiedBuffer<int[]> fromBack = one.allocate(ElementType.INT, INTS);
      there.copyFrom(Patterns.array(ElementType.INT, INTS, 1));
      back.copyFrom(Patterns.array(ElementType.INT, INTS, 2));
      CompletableFuture.allOf(copies(there, fromThere), copies(back, fromBack)).join();
      verify(fromThere, 1);
      verify(fromBack, 2);
      assertThat(one.statistics().unspills()).isPositive();
      List.of(there, back, fromThere, fromBack).forEach(UnifiedBuffer::close);
    }
    assertThat(simulated.violations()).isEmpty();
    assertThat(simulated.devices()).allMatch(device -> device.liveBlocks() == 0);
  }

  private static CompletableFuture<Void> copies(
      UnifiedBuffer<int[]> source, UnifiedBuffer<int[]> destination) {
    return CompletableFuture.runAsync(
        () -> {
          for (int round = 0; round < ROUNDS; round++) {
            destination.copyFrom(source);
          }
        },
        task -> Thread.ofPlatform().start(task));
  }

  private static void verify(UnifiedBuffer<int[]> buffer, int seed) {
    int[] seen = new int[INTS];
    buffer.copyTo(seen);
    Patterns.assertEqual(seen, Patterns.array(ElementType.INT, INTS, seed), "the copy");
  }
}
