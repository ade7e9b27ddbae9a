package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.fault.FaultInjector;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Memory that a driver is just taking back belongs to no buffer and no pool, and is soon free. */
@Timeout(60)
class FreeUnderWayTest {
  private static final int LENGTH = 1 << 20;

  private final FaultInjector faults =
      new FaultInjector(new SimulatedProvider(SimulatedHardware.discrete()));

  @Test
  void aRequestWaitsForABlockThatAnotherThreadIsFreeing() throws Exception {
    MemoryOptions options = MemoryOptions.builder().memoryLimit(LENGTH).pooling(false).build();
    try (Tidepool tidepool = Discovery.using(List.of(faults), () -> Tidepool.open(options))) {
      UnifiedMemoryManager memory = tidepool.memory();
      CountDownLatch freed = new CountDownLatch(1);
      UnifiedBuffer<byte[]> first = buffer(memory);
      faults.hold(SpiCall.FREE, freed);
      Thread closing = Thread.ofPlatform().start(first::close);
      await().until(() -> !faults.holdsNext());
      FutureTask<UnifiedBuffer<byte[]>> second = new FutureTask<>(() -> buffer(memory));
      Thread asking = Thread.ofPlatform().start(second);
      try {
        await().until(() -> second.isDone() || asking.getState() == Thread.State.TIMED_WAITING);
        // A request that nothing helps ends within a few milliseconds.
        await().during(Duration.ofMillis(50)).until(() -> !second.isDone());
      } finally {
        freed.countDown();
      }
      second.get().close();
      closing.join();
      assertThat(memory.statistics().totalAllocated()).isZero();
    }
  }

  @Test
  void synchronizeWaitsForABlockThatAnotherThreadIsFreeing() throws Exception {
    MemoryOptions options = MemoryOptions.builder().pooling(false).build();
    try (Tidepool tidepool = Discovery.using(List.of(faults), () -> Tidepool.open(options))) {
      UnifiedMemoryManager memory = tidepool.memory();
      UnifiedBuffer<byte[]> buffer = buffer(memory);
      CountDownLatch filled = new CountDownLatch(1);
      faults.hold(SpiCall.FILL, filled);
      Thread filling = Thread.ofPlatform().start(() -> buffer.fill((byte) 1));
      await().until(() -> !faults.holdsNext());
      // The thread that fills the buffer frees it, or another one does.
      buffer.close();
      CountDownLatch freed = new CountDownLatch(1);
      faults.hold(SpiCall.FREE, freed);
      filled.countDown();
      await().until(() -> !faults.holdsNext());
      FutureTask<Void> synchronizing = new FutureTask<>(memory::synchronize, null);
      Thread waiting = Thread.ofPlatform().start(synchronizing);
      try {
        await()
            .until(
                () ->
                    synchronizing.isDone()
                        || waiting.getState() == Thread.State.WAITING
                        || waiting.getState() == Thread.State.TIMED_WAITING);
        assertThat(synchronizing).isNotDone();
      } finally {
        freed.countDown();
      }
      synchronizing.get();
      filling.join();
    }
  }

  private static UnifiedBuffer<byte[]> buffer(UnifiedMemoryManager memory) {
    return memory.allocate(ElementType.BYTE, LENGTH, MemoryLocation.DEVICE);
  }
}
