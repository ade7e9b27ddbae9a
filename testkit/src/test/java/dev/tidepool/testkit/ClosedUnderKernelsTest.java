package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.MemoryStatistics;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.pooling.PoolStatistics;
import dev.tidepool.spi.Discovery;
import dev.tidepool.spi.HostAccess;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Closing a buffer that kernels use waits for nothing; its block goes back when they have ended.
 */
@Timeout(120)
class ClosedUnderKernelsTest {
  private static final int LENGTH = 50_000;

  /** Of the size class of so many elements. */
  private static final long BLOCK = 208 << 10;

  /** A device, and kernels that wait there until they are let go. */
  private static final class Held implements AutoCloseable {
    final SimulatedProvider simulated;
    final Tidepool tidepool;
    final UnifiedMemoryManager memory;
    final CountDownLatch go = new CountDownLatch(1);
    private final Kernel waiting;
    private final Kernel add;

    Held(SimulatedHardware hardware) {
      simulated = new SimulatedProvider(hardware);
      tidepool = Discovery.using(List.of(simulated), Tidepool::open);
      memory = tidepool.memory(tidepool.accelerator("simulated:0"));
      waiting =
          memory.compile(
              KernelSource.java(
                  item -> {
                    await(go);
                    item.array(0).fill((byte) item.integer(1));
                  },
                  KernelParameter.inout("y", ElementType.INT),
                  KernelParameter.scalar("value", ElementType.INT)));
      add = memory.compile(KernelSource.elementwise("sum = sum + y"));
    }

    UnifiedBuffer<int[]> buffer() {
      return memory.allocate(ElementType.INT, LENGTH);
    }

    /** Sets every byte, once kernels are let go. */
    CompletableFuture<Void> fillLater(UnifiedBuffer<int[]> y, int value) {
      return waiting.executeAsync(Arguments.of("y", y, "value", value), LaunchRange.of(1));
    }

    CompletableFuture<Void> addLater(UnifiedBuffer<int[]> sum, UnifiedBuffer<int[]> y) {
      return add.executeAsync(Arguments.of("sum", sum, "y", y));
    }

    /** A buffer that is closed while a kernel is to fill it. */
    CompletableFuture<Void> closedUnderAKernel(int value) {
      try (UnifiedBuffer<int[]> y = buffer()) {
        return fillLater(y, value);
      }
    }

    /** Blocks that the driver gave for buffers of the device. */
    long allocations() {
      return memory.pools().stream()
          .filter(pool -> pool.name().equals("simulated:0 DEVICE"))
          .mapToLong(PoolStatistics::driverAllocations)
          .sum();
    }

    static void await(CountDownLatch latch) {
      try {
        latch.await();
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    }

    @Override
    public void close() {
      go.countDown();
      tidepool.close();
      assertThat(simulated.violations()).isEmpty();
      simulated.devices().forEach(device -> assertThat(device.liveBlocks()).isZero());
    }
  }

  private static SimulatedHardware hardware() {
    return SimulatedHardware.discrete();
  }

  private static int[] filled(int value) {
    int[] array = new int[LENGTH];
    Arrays.fill(array, value);
    return array;
  }

  /** An element of which every byte is that value. */
  private static int bytes(int value) {
    return value * 0x01010101;
  }

  private static int[] contents(UnifiedBuffer<int[]> buffer) {
    int[] seen = new int[LENGTH];
    buffer.copyTo(seen);
    return seen;
  }

  @ParameterizedTest
  @EnumSource(HostAccess.class)
  void aBlockHasItsNextBufferOnlyWhenTheKernelHasEnded(HostAccess access) {
    try (Held held = new Held(hardware().withHostAccess(access))) {
      CompletableFuture<Void> old = held.closedUnderAKernel(1);
      try (UnifiedBuffer<int[]> next = held.buffer()) {
        assertThat(held.allocations()).isEqualTo(2);
        next.copyFrom(filled(2));
        assertThat(old).isNotDone();
        held.go.countDown();
        old.join();
        assertThat(contents(next)).isEqualTo(filled(2));
      }
      await().until(() -> held.memory.statistics().activeBuffers() == 0);
      held.buffer().close();
      assertThat(held.allocations()).isEqualTo(2);
    }
  }

  @Test
  void trimmingLeavesTheBlockUntilTheKernelHasEnded() {
    try (Held held = new Held(hardware())) {
      held.closedUnderAKernel(1);
      assertThat(held.memory.trimExcess()).isZero();
      assertThat(held.simulated.device("simulated:0").liveBlocks()).isEqualTo(1);
      held.go.countDown();
      held.memory.synchronize();
      await().until(() -> held.memory.statistics().totalPooled() > 0);
      assertThat(held.memory.trimExcess()).isPositive();
    }
  }

  @Test
  void theBufferCountsAsAllocatedUntilTheKernelHasEnded() {
    try (Held held = new Held(hardware())) {
      CompletableFuture<Void> old = held.closedUnderAKernel(1);
      MemoryStatistics during = held.memory.statistics();
      assertThat(during.activeBuffers()).isEqualTo(1);
      assertThat(during.totalAllocated()).isEqualTo(4L * LENGTH);
      assertThat(held.memory.buffers()).isEmpty();
      held.go.countDown();
      old.join();
      await().until(() -> held.memory.statistics().totalPooled() == BLOCK);
      MemoryStatistics after = held.memory.statistics();
      assertThat(after.activeBuffers()).isZero();
      assertThat(after.totalAllocated()).isZero();
      assertThat(after.totalFreed()).isEqualTo(1);
    }
  }

  @Test
  void theBlockOfAKernelThatWasCancelledBehindARunningOneGoesBack() {
    try (Held held = new Held(hardware())) {
      CompletableFuture<Void> running;
      CompletableFuture<Void> cancelled;
      try (UnifiedBuffer<int[]> buffer = held.buffer()) {
        running = held.fillLater(buffer, 1);
        cancelled = held.fillLater(buffer, 2);
        assertThat(cancelled.cancel(false)).isTrue();
      }
      assertThat(held.memory.statistics().totalPooled()).isZero();
      held.go.countDown();
      running.join();
      await().until(() -> held.memory.statistics().totalPooled() == BLOCK);
    }
  }

  @Test
  void aRequestThatFindsNoMemoryWaitsForTheKernelOfAClosedBuffer() throws Exception {
    try (Held held = new Held(hardware().withMemory(BLOCK).withMaximumAllocation(BLOCK))) {
      CompletableFuture<Void> old = held.closedUnderAKernel(1);
      FutureTask<UnifiedBuffer<int[]>> filled =
          new FutureTask<>(() -> held.memory.copyOf(filled(3)));
      Thread filling = Thread.ofPlatform().start(filled);
      await().until(() -> filled.isDone() || filling.getState() == Thread.State.TIMED_WAITING);
      assertThat(old).isNotDone();
      held.go.countDown();
      try (UnifiedBuffer<int[]> next = filled.get()) {
        old.join();
        assertThat(contents(next)).isEqualTo(filled(3));
      }
    }
  }

  @Test
  void aRequestWaitsForOneOfManyClosedBuffersAndNotForAll() throws Exception {
    try (Held held = new Held(hardware().withMemory(2 * BLOCK).withMaximumAllocation(BLOCK))) {
      CompletableFuture<Void> ends;
      CompletableFuture<Void> stays;
      CountDownLatch later = new CountDownLatch(1);
      Kernel longer =
          held.memory.compile(
              KernelSource.java(
                  _ -> Held.await(later), KernelParameter.inout("y", ElementType.INT)));
      ends = held.closedUnderAKernel(1);
      try (UnifiedBuffer<int[]> second = held.buffer()) {
        stays = longer.executeAsync(Arguments.of("y", second), LaunchRange.of(1));
      }
      FutureTask<UnifiedBuffer<int[]>> request = new FutureTask<>(held::buffer);
      Thread asking = Thread.ofPlatform().start(request);
      await().until(() -> request.isDone() || asking.getState() == Thread.State.TIMED_WAITING);
      held.go.countDown();
      try (UnifiedBuffer<int[]> _ = request.get()) {
        ends.join();
        assertThat(stays).isNotDone();
      } finally {
        later.countDown();
      }
      stays.join();
    }
  }

  @Test
  void aManagerThatClosesWaitsForTheKernelOfAClosedBuffer() throws Exception {
    try (Held held = new Held(hardware())) {
      CompletableFuture<Void> old = held.closedUnderAKernel(1);
      Thread closing = Thread.ofPlatform().start(held.memory::close);
      await().until(() -> closing.getState() == Thread.State.WAITING);
      assertThat(old).isNotDone();
      held.go.countDown();
      closing.join();
      assertThat(old).isCompleted();
    }
  }

  @Test
  void synchronizeWaitsForTheKernelOfAClosedBuffer() throws Exception {
    try (Held held = new Held(hardware())) {
      CompletableFuture<Void> old = held.closedUnderAKernel(1);
      Thread waiting = Thread.ofPlatform().start(held.memory::synchronize);
      await().until(() -> waiting.getState() == Thread.State.WAITING);
      held.go.countDown();
      waiting.join();
      assertThat(old).isCompleted();
    }
  }

  @Test
  void threadsThatCloseBuffersUnderKernelsSeeTheirOwnBytes() throws Exception {
    try (Held held = new Held(hardware())) {
      held.go.countDown();
      List<Thread> threads = new ArrayList<>();
      List<Throwable> failures = new ArrayList<>();
      for (int t = 0; t < 6; t++) {
        int number = t;
        threads.add(
            Thread.ofPlatform()
                .start(
                    () -> {
                      try {
                        computeOften(held, number);
                      } catch (Throwable e) {
                        synchronized (failures) {
                          failures.add(e);
                        }
                      }
                    }));
      }
      for (Thread thread : threads) {
        thread.join();
      }
      assertThat(failures).isEmpty();
    }
  }

  private static void computeOften(Held held, int number) {
    try (UnifiedBuffer<int[]> sum = held.memory.copyOf(filled(0))) {
      int expected = 0;
      for (int i = 0; i < 60; i++) {
        try (UnifiedBuffer<int[]> y = held.buffer()) {
          if (i % 3 == 0) {
            y.copyFrom(filled(number));
            expected += number;
          } else {
            held.fillLater(y, i + number);
            expected += bytes(i + number);
          }
          held.addLater(sum, y);
        }
      }
      assertThat(contents(sum)).isEqualTo(filled(expected));
    }
  }
}
