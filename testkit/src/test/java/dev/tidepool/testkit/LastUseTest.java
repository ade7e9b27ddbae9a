package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.tidepool.Allocation;
import dev.tidepool.Arguments;
import dev.tidepool.BufferState;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.MemoryStatistics;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.diagnostics.BufferInfo;
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
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A block whose buffer was closed under kernels goes to the next buffer before they have ended, and
 * what that one does with it comes behind them.
 */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LastUseTest {
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

    Held(SimulatedHardware... hardware) {
      this(MemoryOptions.defaults(), hardware);
    }

    Held(MemoryOptions options, SimulatedHardware... hardware) {
      simulated = new SimulatedProvider(hardware);
      tidepool = Discovery.using(List.of(simulated), () -> Tidepool.open(options));
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

  @Test
  void aBufferThatShortCopiesFillIsNotTakenForOneOfKernelsAlone() {
    int length = 16_000;
    try (Held held = new Held(hardware().withHostAccess(HostAccess.DIRECT))) {
      List<UnifiedBuffer<int[]>> others = new ArrayList<>();
      for (int i = 0; i < 100; i++) {
        others.add(held.memory.allocate(ElementType.INT, length));
      }
      UnifiedBuffer<int[]> closed = held.memory.allocate(ElementType.INT, length);
      closed.copyFrom(new int[length]);
      CompletableFuture<Void> kernel = held.fillLater(closed, 1);
      closed.close();
      for (int i = 0; i < 20; i++) {
        UnifiedBuffer<int[]> next = held.memory.allocate(ElementType.INT, length);
        // It would wait for the kernel, which waits for this test.
        next.copyFrom(new int[length]);
        others.add(next);
      }
      assertThat(kernel).isNotDone();
      held.go.countDown();
      kernel.join();
      others.forEach(UnifiedBuffer::close);
    }
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
  void theNextBufferHasTheBlockWhileTheKernelStillRuns(HostAccess access) {
    try (Held held = new Held(hardware().withHostAccess(access))) {
      CompletableFuture<Void> old = held.closedUnderAKernel(1);
      UnifiedBuffer<int[]> next = held.buffer();
      assertThat(held.allocations()).isEqualTo(1);
      CompletableFuture<Void> second = held.fillLater(next, 2);
      assertThat(old).isNotDone();
      held.go.countDown();
      second.join();
      assertThat(contents(next)).isEqualTo(filled(bytes(2)));
      assertThat(old).isCompleted();
      next.close();
    }
  }

  @ParameterizedTest
  @EnumSource(HostAccess.class)
  void aThousandBuffersUnderHeldKernelsAreAFewBlocksAndEveryKernelSeesItsOwn(HostAccess access) {
    try (Held held = new Held(hardware().withHostAccess(access));
        UnifiedBuffer<int[]> sum = held.memory.copyOf(filled(0))) {
      held.fillLater(sum, 0);
      Kernel set = held.memory.compile(KernelSource.elementwise("y = a"));
      long before = held.allocations();
      int expected = 0;
      for (int i = 0; i < 1000; i++) {
        try (UnifiedBuffer<int[]> y = held.buffer()) {
          set.executeAsync(Arguments.of("a", i, "y", y));
          held.addLater(sum, y);
          expected += i;
        }
      }
      assertThat(held.allocations() - before).isEqualTo(1);
      held.go.countDown();
      assertThat(contents(sum)).isEqualTo(filled(expected));
    }
  }

  @Test
  void whatTheHostWritesToTheNextBufferComesBehindTheKernel() {
    try (Held held = new Held(hardware());
        UnifiedBuffer<int[]> other = held.memory.allocate(ElementType.INT, 10)) {
      held.closedUnderAKernel(1);
      try (UnifiedBuffer<int[]> next = held.buffer()) {
        CompletableFuture<Void> write = next.copyFromAsync(filled(5));
        // Had it not waited, it would be done before what was asked for later.
        other.copyFromAsync(new int[10]).join();
        assertThat(write).isNotDone();
        held.go.countDown();
        assertThat(contents(next)).isEqualTo(filled(5));
      }
    }
  }

  @ParameterizedTest
  @EnumSource(HostAccess.class)
  void aMappingOfTheNextBufferWaitsForTheKernel(HostAccess access) throws Exception {
    try (Held held = new Held(hardware().withHostAccess(access))) {
      held.closedUnderAKernel(1);
      try (UnifiedBuffer<int[]> next = held.buffer()) {
        Thread mapping =
            Thread.ofPlatform()
                .start(
                    () -> {
                      try (var mapped = next.map(MapMode.WRITE)) {
                        mapped.segment().fill((byte) 7);
                      }
                    });
        await().until(() -> mapping.getState() == Thread.State.WAITING);
        held.go.countDown();
        mapping.join();
        assertThat(contents(next)).isEqualTo(filled(bytes(7)));
      }
    }
  }

  @Test
  void buffersThatTheHostFillsTakeTurnsWithTwoBlocks() {
    try (Held held = new Held(hardware())) {
      for (int i = 1; i <= 2; i++) {
        try (UnifiedBuffer<int[]> filled = held.memory.copyOf(filled(i))) {
          held.fillLater(filled, i);
        }
        // The next one can be filled while the kernel uses this one.
        assertThat(held.allocations()).isEqualTo(i);
      }
      try (UnifiedBuffer<int[]> third = held.buffer()) {
        CompletableFuture<Void> write = third.copyFromAsync(filled(3));
        assertThat(held.allocations()).isEqualTo(2);
        held.go.countDown();
        write.join();
        assertThat(contents(third)).isEqualTo(filled(3));
      }
    }
  }

  @Test
  void whereThereIsRoomForNoOtherEvenAFilledBuffersBlockIsTheNexts() {
    try (Held held = new Held(hardware().withMemory(2 * BLOCK).withMaximumAllocation(BLOCK))) {
      UnifiedBuffer<int[]> kept = held.memory.copyOf(filled(9));
      UnifiedBuffer<int[]> first = held.memory.copyOf(filled(3));
      CompletableFuture<Void> old = held.fillLater(first, 1);
      first.close();
      UnifiedBuffer<int[]> next = held.buffer();
      assertThat(old).isNotDone();
      CompletableFuture<Void> write = next.copyFromAsync(filled(4));
      held.go.countDown();
      write.join();
      assertThat(contents(next)).isEqualTo(filled(4));
      assertThat(contents(kept)).isEqualTo(filled(9));
      assertThat(held.memory.statistics().evictions()).isZero();
      kept.close();
      next.close();
    }
  }

  /** The end of the last use needs a thread, and the only one waits for the memory. */
  @Test
  void aTransferThatWaitsForTheBlockEndsTheLastUseOfIt() {
    MemoryOptions options = MemoryOptions.builder().concurrentTransfers(1).build();
    SimulatedHardware hardware = hardware().withMemory(BLOCK).withMaximumAllocation(BLOCK);
    try (Held held = new Held(options, hardware);
        UnifiedBuffer<int[]> kept = held.memory.copyOf(filled(9))) {
      // Both buffers have the device's only block, one after the other.
      held.closedUnderAKernel(1);
      try (UnifiedBuffer<int[]> next = held.buffer()) {
        kept.prefetchToDevice();
        await().until(LastUseTest::aTransferWaitsForMemory);
        held.go.countDown();
        assertThat(contents(kept)).isEqualTo(filled(9));
        // A prefetch that gets no memory fails without a word.
        assertThat(kept.state()).isEqualTo(BufferState.SYNCHRONIZED);
        next.copyFrom(filled(2));
        assertThat(contents(next)).isEqualTo(filled(2));
      }
    }
  }

  private static boolean aTransferWaitsForMemory() {
    return Thread.getAllStackTraces().entrySet().stream()
        .filter(thread -> thread.getKey().getName().startsWith("tidepool-transfer"))
        .flatMap(thread -> Stream.of(thread.getValue()))
        .anyMatch(frame -> frame.getClassName().endsWith(".ReleaseWait"));
  }

  @Test
  void anotherAcceleratorsPoolHasNoPartInIt() {
    try (Held held = new Held(hardware(), hardware())) {
      held.closedUnderAKernel(1);
      UnifiedMemoryManager other = held.tidepool.memory(held.tidepool.accelerator("simulated:1"));
      try (UnifiedBuffer<int[]> elsewhere = other.copyOf(filled(8))) {
        assertThat(held.simulated.device("simulated:1").liveBlocks()).isPositive();
        assertThat(held.allocations()).isEqualTo(1);
        assertThat(contents(elsewhere)).isEqualTo(filled(8));
      }
    }
  }

  @Test
  void trimmingLeavesTheBlockUntilTheKernelHasEnded() {
    try (Held held = new Held(hardware())) {
      held.closedUnderAKernel(1);
      long blocks = held.simulated.device("simulated:0").liveBlocks();
      assertThat(held.memory.trimExcess()).isZero();
      assertThat(held.simulated.device("simulated:0").liveBlocks()).isEqualTo((int) blocks);
      held.go.countDown();
      held.memory.synchronize();
      await().until(() -> held.memory.statistics().totalPooled() > 0);
      assertThat(held.memory.trimExcess()).isPositive();
    }
  }

  @Test
  void aKernelThatFailsIsNoFailureOfTheNextBuffer() {
    try (Held held = new Held(hardware())) {
      Kernel failing =
          held.memory.compile(
              KernelSource.java(
                  _ -> {
                    Held.await(held.go);
                    throw new ArithmeticException("the rock in the stream");
                  },
                  KernelParameter.inout("y", ElementType.INT)));
      CompletableFuture<Void> old;
      CompletableFuture<Void> behind;
      try (UnifiedBuffer<int[]> first = held.buffer()) {
        old = failing.executeAsync(Arguments.of("y", first), LaunchRange.of(1));
        behind = held.fillLater(first, 1);
      }
      try (UnifiedBuffer<int[]> next = held.buffer()) {
        assertThat(held.allocations()).isEqualTo(1);
        CompletableFuture<Void> write = held.fillLater(next, 2);
        held.go.countDown();
        write.join();
        assertThat(contents(next)).isEqualTo(filled(bytes(2)));
      }
      assertThatThrownBy(old::join).hasStackTraceContaining("the rock in the stream");
      assertThatThrownBy(behind::join).hasStackTraceContaining("the rock in the stream");
    }
  }

  @Test
  void aKernelThatWasCancelledHoldsUpNobody() {
    try (Held held = new Held(hardware())) {
      CompletableFuture<Void> running;
      CompletableFuture<Void> cancelled;
      try (UnifiedBuffer<int[]> first = held.buffer()) {
        running = held.fillLater(first, 1);
        cancelled = held.fillLater(first, 2);
        assertThat(cancelled.cancel(false)).isTrue();
      }
      try (UnifiedBuffer<int[]> next = held.buffer()) {
        CompletableFuture<Void> write = held.fillLater(next, 3);
        held.go.countDown();
        write.join();
        assertThat(running).isCompleted();
        assertThat(contents(next)).isEqualTo(filled(bytes(3)));
      }
    }
  }

  @Test
  void manyBuffersThatNobodyUsesTakeTheBlockInTurn() {
    try (Held held = new Held(hardware())) {
      held.closedUnderAKernel(1);
      for (int i = 0; i < 20_000; i++) {
        held.buffer().close();
      }
      assertThat(held.allocations()).isEqualTo(1);
      try (UnifiedBuffer<int[]> last = held.buffer()) {
        CompletableFuture<Void> write = last.copyFromAsync(filled(6));
        held.go.countDown();
        write.join();
        assertThat(contents(last)).isEqualTo(filled(6));
      }
      MemoryStatistics after = held.memory.statistics();
      assertThat(after.totalAllocations()).isEqualTo(20_002);
    }
  }

  @Test
  void figuresAddUpWhileABlockHasANextOwnerAndAKernelOfTheLast() {
    try (Held held = new Held(hardware())) {
      held.closedUnderAKernel(1);
      assertThat(held.memory.statistics().activeBuffers()).isEqualTo(1);
      assertThat(held.memory.buffers()).isEmpty();
      UnifiedBuffer<int[]> next =
          held.memory.allocate(
              ElementType.INT, LENGTH, Allocation.at(MemoryLocation.DEVICE).tag("next"));
      MemoryStatistics during = held.memory.statistics();
      assertThat(during.activeBuffers()).isEqualTo(1);
      assertThat(during.totalAllocated()).isEqualTo(4L * LENGTH);
      assertThat(during.peakUsage()).isEqualTo(4L * LENGTH);
      assertThat(during.totalPooled()).isZero();
      assertThat(during.poolHits()).isEqualTo(1);
      assertThat(during.poolMisses()).isEqualTo(1);
      assertThat(held.memory.pools().stream().mapToLong(PoolStatistics::hits).sum()).isEqualTo(1);
      assertThat(held.memory.buffers()).extracting(BufferInfo::tag).containsExactly("next");
      assertThat(held.memory.bytesByTag()).containsOnlyKeys("next");
      next.close();
      held.go.countDown();
      held.memory.synchronize();
      await().until(() -> held.memory.statistics().totalPooled() > 0);
      MemoryStatistics after = held.memory.statistics();
      assertThat(after.activeBuffers()).isZero();
      assertThat(after.totalAllocated()).isZero();
      assertThat(after.totalAllocations()).isEqualTo(2);
      assertThat(after.totalFreed()).isEqualTo(2);
      assertThat(after.totalPooled()).isEqualTo(BLOCK);
    }
  }

  @Test
  void aManagerThatClosesWaitsForTheKernelOfTheOwnerBefore() throws Exception {
    try (Held held = new Held(hardware())) {
      CompletableFuture<Void> old = held.closedUnderAKernel(1);
      try (UnifiedBuffer<int[]> unused = held.buffer()) {
        Thread closing = Thread.ofPlatform().start(held.memory::close);
        await().until(() -> closing.getState() == Thread.State.WAITING);
        assertThat(old).isNotDone();
        held.go.countDown();
        closing.join();
        assertThat(old).isCompleted();
        assertThatThrownBy(unused::length).isInstanceOf(IllegalStateException.class);
      }
    }
  }

  @Test
  void synchronizeWaitsForTheKernelOfTheOwnerBefore() throws Exception {
    try (Held held = new Held(hardware())) {
      CompletableFuture<Void> old = held.closedUnderAKernel(1);
      try (UnifiedBuffer<int[]> _ = held.buffer()) {
        Thread waiting = Thread.ofPlatform().start(held.memory::synchronize);
        await().until(() -> waiting.getState() == Thread.State.WAITING);
        held.go.countDown();
        waiting.join();
        assertThat(old).isCompleted();
      }
    }
  }

  @Test
  void whoMakesRoomLeavesABufferWhoseBlockAKernelStillUses() {
    try (Held held = new Held(hardware().withMemory(2 * BLOCK).withMaximumAllocation(BLOCK))) {
      held.closedUnderAKernel(1);
      UnifiedBuffer<int[]> next = held.buffer();
      UnifiedBuffer<int[]> idle = held.memory.copyOf(filled(2));
      // Room for a third is made by the one that nobody uses.
      UnifiedBuffer<int[]> third = held.memory.copyOf(filled(3));
      assertThat(held.memory.statistics().evictions()).isEqualTo(1);
      held.memory.defragment();
      CompletableFuture<Void> write = next.copyFromAsync(filled(4));
      held.go.countDown();
      write.join();
      assertThat(contents(next)).isEqualTo(filled(4));
      assertThat(contents(idle)).isEqualTo(filled(2));
      assertThat(contents(third)).isEqualTo(filled(3));
      List.of(next, idle, third).forEach(UnifiedBuffer::close);
    }
  }

  @Test
  void whereThereIsNothingElseToMakeRoomOfTheKernelIsWaitedFor() throws Exception {
    try (Held held = new Held(hardware().withMemory(BLOCK).withMaximumAllocation(BLOCK))) {
      held.closedUnderAKernel(1);
      UnifiedBuffer<int[]> next = held.buffer();
      FutureTask<UnifiedBuffer<int[]>> filled =
          new FutureTask<>(() -> held.memory.copyOf(filled(3)));
      Thread filling = Thread.ofPlatform().start(filled);
      await().until(() -> filled.isDone() || filling.getState() == Thread.State.TIMED_WAITING);
      held.go.countDown();
      UnifiedBuffer<int[]> third = filled.get();
      next.copyFrom(filled(4));
      assertThat(contents(third)).isEqualTo(filled(3));
      assertThat(contents(next)).isEqualTo(filled(4));
      next.close();
      third.close();
    }
  }

  @Test
  void aZeroedBufferIsZero() {
    try (Held held = new Held(hardware())) {
      held.closedUnderAKernel(1);
      Allocation zeroed = Allocation.at(MemoryLocation.DEVICE).zeroed();
      try (UnifiedBuffer<int[]> next = held.memory.allocate(ElementType.INT, LENGTH, zeroed)) {
        held.go.countDown();
        held.memory.synchronize();
        assertThat(contents(next)).isEqualTo(filled(0));
      }
    }
  }

  @Test
  void whereReleasedBytesAreOverwrittenNobodyGetsTheBlockBefore() {
    MemoryOptions options = MemoryOptions.builder().zeroOnRelease(true).build();
    try (Held held = new Held(options, hardware())) {
      held.closedUnderAKernel(1);
      try (UnifiedBuffer<int[]> next = held.buffer()) {
        assertThat(held.simulated.device("simulated:0").liveBlocks()).isEqualTo(2);
        next.fill((byte) 3);
        assertThat(contents(next)).isEqualTo(filled(bytes(3)));
      }
    }
  }

  @Test
  void threadsThatTakeEachOthersBlocksUnderKernelsSeeTheirOwnBytes() throws Exception {
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
