package dev.tidepool.testkit;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Allocations in the background that wait for memory. */
@Timeout(60)
class AsynchronousAllocationTest {
  private static final int LENGTH = 160 << 10;

  private final SimulatedProvider simulated =
      new SimulatedProvider(SimulatedHardware.discrete().withLatency(Duration.ofMillis(20)));

  /** The copy gives the memory back, and needs the only transfer thread. */
  @Test
  void oneThatWaitsForATransferDoesNotTakeItsThread() throws Exception {
    MemoryOptions options =
        MemoryOptions.builder().concurrentTransfers(1).memoryLimit(1 << 20).build();
    try (Tidepool tidepool = Discovery.using(List.of(simulated), () -> Tidepool.open(options))) {
      UnifiedMemoryManager memory = tidepool.memory();
      UnifiedBuffer<float[]> busy = memory.allocate(ElementType.FLOAT, LENGTH);
      Kernel kernel = memory.compile(KernelSource.elementwise("y = y + 1"));
      for (int i = 0; i < 5; i++) {
        var _ = kernel.executeAsync(Arguments.of("y", busy));
      }
      CompletableFuture<UnifiedBuffer<float[]>> allocated =
          memory.allocateAsync(ElementType.FLOAT, LENGTH);
      // Until it waits.
      Thread.sleep(30);
      CompletableFuture<?> copied = busy.copyToAsync(new float[LENGTH]);
      busy.close();
      allocated.join().close();
      copied.join();
    }
  }
}
