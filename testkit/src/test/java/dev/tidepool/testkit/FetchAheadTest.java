package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.tidepool.Arguments;
import dev.tidepool.BufferState;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.AcceleratorProvider;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.conformance.Patterns;
import dev.tidepool.testkit.fault.Failure;
import dev.tidepool.testkit.fault.FaultInjector;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedLink;
import dev.tidepool.testkit.simulated.SimulatedLink.Speed;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** What a full device will give up next is on its way to the host while something else arrives. */
@ExtendWith(QuietLog.class)
@Timeout(120)
class FetchAheadTest {
  private static final int MEBIBYTE = 1 << 20;
  private static final int FLOATS = MEBIBYTE / 4;
  private static final int ROOM = 2;
  private static final int COUNT = 4;

  private static SimulatedHardware hardware() {
    return SimulatedHardware.discrete().withMemory(ROOM * MEBIBYTE).withMaximumAllocation(MEBIBYTE);
  }

  /** A device that is full, and buffers that have been on both sides; the last ones are on it. */
  private static final class Full implements AutoCloseable {
    final Tidepool tidepool;
    final UnifiedMemoryManager memory;
    final Kernel increment;
    final List<UnifiedBuffer<float[]>> buffers = new ArrayList<>();
    private final int[] added = new int[COUNT];

    Full(AcceleratorProvider provider) {
      tidepool = Discovery.using(List.of(provider), Tidepool::open);
      memory = tidepool.memory();
      increment = memory.compile(KernelSource.elementwise("y = y + 1"));
      for (int i = 0; i < COUNT; i++) {
        UnifiedBuffer<float[]> buffer = memory.allocate(ElementType.FLOAT, FLOATS);
        buffer.copyFrom(Patterns.array(ElementType.FLOAT, FLOATS, i));
        buffers.add(buffer);
      }
      touch(0);
      for (int i = 1; i < COUNT; i++) {
        touch(i);
        awaitFetched(i - 1);
      }
    }

    void touch(int buffer) {
      increment.execute(Arguments.of("y", buffers.get(buffer)));
      added[buffer]++;
    }

    BufferState state(int buffer) {
      return buffers.get(buffer).state();
    }

    void awaitFetched(int buffer) {
      await()
          .pollDelay(Duration.ZERO)
          .pollInterval(Duration.ofMillis(1))
          .until(() -> state(buffer) == BufferState.SYNCHRONIZED);
    }

    long fetchedBytes() {
      return memory.transfers().statistics().deviceToHostBytes();
    }

    void verify() {
      for (int i = 0; i < COUNT; i++) {
        float[] expected = Patterns.array(ElementType.FLOAT, FLOATS, i);
        for (int j = 0; j < FLOATS; j++) {
          for (int round = 0; round < added[i]; round++) {
            expected[j] += 1;
          }
        }
        float[] seen = new float[FLOATS];
        buffers.get(i).copyTo(seen);
        Patterns.assertEqual(seen, expected, "buffer " + i);
      }
    }

    @Override
    public void close() {
      buffers.forEach(UnifiedBuffer::close);
      tidepool.close();
    }
  }

  @Test
  void theNextOneToGoIsFetchedAndThenGoesWithoutATransfer() {
    SimulatedProvider simulated = new SimulatedProvider(hardware());
    try (Full full = new Full(simulated)) {
      for (int i = 0; i < 2 * COUNT; i++) {
        int last = (i + COUNT - 1) % COUNT;
        full.touch(i % COUNT);
        full.awaitFetched(last);
        assertThat(full.state(i % COUNT)).isEqualTo(BufferState.DEVICE_DIRTY);
      }
      // Each went once for each time that it came, and no byte travelled twice.
      assertThat(full.memory.statistics().evictions()).isEqualTo(COUNT - ROOM + 3 * COUNT);
      assertThat(full.fetchedBytes())
          .isEqualTo((full.memory.statistics().evictions() + 1) * MEBIBYTE);
      full.verify();
    }
    assertThat(simulated.violations()).isEmpty();
  }

  @Test
  void whoeverIsOnItsWayAlreadyIsStillTheNextToGo() {
    Speed slow = Speed.of(100, 500);
    SimulatedProvider simulated =
        new SimulatedProvider(hardware().withLink(SimulatedLink.both(slow, slow)));
    try (Full full = new Full(simulated)) {
      for (int i = 0; i < 3 * COUNT; i++) {
        full.touch(i % COUNT);
        for (int j = 0; j < COUNT; j++) {
          boolean used = j == i % COUNT || j == (i + COUNT - 1) % COUNT;
          assertThat(full.state(j) == BufferState.HOST_ONLY)
              .as("buffer %d after %d was used", j, i % COUNT)
              .isNotEqualTo(used);
        }
      }
      full.verify();
    }
    assertThat(simulated.violations()).isEmpty();
  }

  @Test
  void aFetchAheadThatFailsCostsNothingButTheTransfer() {
    SimulatedProvider simulated = new SimulatedProvider(hardware());
    FaultInjector faults = new FaultInjector(simulated);
    try (Full full = new Full(faults)) {
      faults.fail(SpiCall.READ, 1, Failure.BROKEN);
      full.touch(0);
      await().until(() -> faults.fired().isPresent());
      full.touch(1);
      full.touch(2);
      full.verify();
    }
    assertThat(simulated.violations()).isEmpty();
  }

  @Test
  void aBufferIsUsedOrClosedWhileItIsFetched() {
    Speed slow = Speed.of(100, 500);
    SimulatedProvider simulated =
        new SimulatedProvider(hardware().withLink(SimulatedLink.both(slow, slow)));
    try (Full full = new Full(simulated)) {
      for (int i = 0; i < 8; i++) {
        full.touch(i % COUNT);
        full.touch((i + COUNT - 1) % COUNT);
      }
      full.verify();
      full.touch(0);
      full.touch(1);
      full.buffers.getFirst().close();
    }
    assertThat(simulated.violations()).isEmpty();
    assertThat(simulated.device("simulated:0").liveBlocks()).isZero();
  }

  @Test
  void severalThreadsOnAFullDeviceLoseNothing() {
    SimulatedProvider simulated = new SimulatedProvider(hardware());
    try (Full full = new Full(simulated)) {
      List<CompletableFuture<Void>> threads = new ArrayList<>();
      for (int i = 0; i < COUNT; i++) {
        int own = i;
        threads.add(
            CompletableFuture.runAsync(
                () -> {
                  for (int round = 0; round < 30; round++) {
                    full.touch(own);
                  }
                },
                task -> Thread.ofPlatform().start(task)));
      }
      threads.forEach(CompletableFuture::join);
      full.verify();
    }
    assertThat(simulated.violations()).isEmpty();
  }
}
