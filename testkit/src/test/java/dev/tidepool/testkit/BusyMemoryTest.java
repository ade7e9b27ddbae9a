package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Arguments;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Memory that others are using right now is waited for. */
@ExtendWith(QuietLog.class)
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class BusyMemoryTest {
  private static final int MEBIBYTE = 1 << 20;
  private static final int THREADS = 8;
  private static final int ROUNDS = 40;

  @Test
  void moreThreadsThanTheDeviceHasRoomForAllGetTheirTurn() throws Exception {
    SimulatedProvider simulated =
        new SimulatedProvider(
            SimulatedHardware.discrete().withMemory(4 * MEBIBYTE).withMaximumAllocation(MEBIBYTE));
    MemoryOptions options = MemoryOptions.builder().pooling(false).build();
    try (Tidepool tidepool = Discovery.using(List.of(simulated), () -> Tidepool.open(options));
        ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
      UnifiedMemoryManager memory = tidepool.memory();
      Kernel increment = memory.compile(KernelSource.elementwise("y = y + 1"));
      List<CompletableFuture<Void>> turns = new ArrayList<>();
      for (int i = 0; i < THREADS; i++) {
        turns.add(CompletableFuture.runAsync(() -> incrementOften(memory, increment), threads));
      }
      for (CompletableFuture<Void> turn : turns) {
        turn.get();
      }
    }
    assertThat(simulated.violations()).isEmpty();
  }

  private static void incrementOften(UnifiedMemoryManager memory, Kernel increment) {
    try (UnifiedBuffer<int[]> y = memory.copyOf(new int[MEBIBYTE / 4])) {
      for (int round = 0; round < ROUNDS; round++) {
        increment.execute(Arguments.of("y", y));
      }
      int[] seen = new int[MEBIBYTE / 4];
      y.copyTo(seen);
      assertThat(seen).containsOnly(ROUNDS);
    }
  }
}
