package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Allocation;
import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.HostMapping;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.Tidepool;
import dev.tidepool.TransferException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.conformance.Patterns;
import dev.tidepool.testkit.fault.Failure;
import dev.tidepool.testkit.fault.FaultInjector;
import dev.tidepool.testkit.simulated.DriverLedger;
import dev.tidepool.testkit.simulated.SimulatedDevice;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import dev.tidepool.transfer.TransferStatistics;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What only a device that can be held and read out shows. */
@Timeout(60)
class SimulatedRuntimeTest {
  private static final int LENGTH = 100_000;

  private final SimulatedProvider simulated = new SimulatedProvider(SimulatedHardware.discrete());
  private final FaultInjector faults = new FaultInjector(simulated);
  private Tidepool tidepool;
  private UnifiedMemoryManager memory;
  private SimulatedDevice device;
  private DriverLedger ledger;

  @BeforeEach
  void open() {
    tidepool = Discovery.using(List.of(faults), Tidepool::open);
    memory = tidepool.memory();
    device = simulated.device("simulated:0");
    ledger = device.ledger();
  }

  @AfterEach
  void close() {
    device.resume();
    tidepool.close();
    assertThat(simulated.violations()).isEmpty();
    assertThat(device.liveBlocks()).isZero();
    assertThat(device.openEvents()).isZero();
  }

  private static float[] pattern(long seed) {
    return Patterns.array(ElementType.FLOAT, LENGTH, seed);
  }

  private static float[] contents(UnifiedBuffer<float[]> buffer) {
    float[] array = new float[Math.toIntExact(buffer.length())];
    buffer.copyTo(array);
    return array;
  }

  @Test
  void theStatisticsOfTransfersAreWhatTheDriverMoved() {
    try (UnifiedBuffer<float[]> x = memory.copyOf(pattern(1));
        UnifiedBuffer<float[]> y = memory.allocate(ElementType.FLOAT, LENGTH, MemoryLocation.HOST);
        UnifiedBuffer<float[]> z =
            memory.allocate(ElementType.FLOAT, LENGTH, MemoryLocation.PINNED)) {
      y.copyFrom(pattern(2));
      memory
          .compile(KernelSource.elementwise("y = a * x + y"))
          .execute(Arguments.of("a", 2, "x", x, "y", y));
      z.copyFrom(y);
      x.copyFrom(z);
      try (var mapping = x.map(MapMode.READ_WRITE)) {
        mapping.segment().asSlice(400, 4000).fill((byte) 0);
      }
      x.synchronize();
      z.prefetchToDevice();
      memory.synchronize();
      contents(y);
    }
    TransferStatistics moved = memory.transfers().statistics();
    assertThat(moved.hostToDeviceBytes()).isEqualTo(ledger.hostToDeviceBytes()).isPositive();
    assertThat(moved.deviceToHostBytes()).isEqualTo(ledger.deviceToHostBytes()).isPositive();
    assertThat(moved.deviceToDeviceBytes()).isEqualTo(ledger.deviceToDeviceBytes());
  }

  @Test
  void aVirtualThreadThatCopiesToTheProcessorsBufferHoldsUpNoCarrier() throws Exception {
    UnifiedMemoryManager processor = tidepool.memory(tidepool.accelerator("cpu:0"));
    try (UnifiedBuffer<float[]> source = memory.copyOf(pattern(3));
        UnifiedBuffer<float[]> target = processor.allocate(ElementType.FLOAT, LENGTH)) {
      // The device is asked for the bytes, which it would be a violation to wait for there.
      Thread.ofVirtual().start(() -> target.copyFrom(source)).join();
      assertThat(contents(target)).isEqualTo(pattern(3));
    }
  }

  @Test
  void aPooledAllocationAsksTheDriverForNothing() {
    memory.allocate(ElementType.FLOAT, LENGTH).close();
    long before = ledger.calls(SpiCall.ALLOCATE);
    for (int i = 0; i < 100; i++) {
      memory.allocate(ElementType.FLOAT, LENGTH).close();
    }
    assertThat(ledger.calls(SpiCall.ALLOCATE)).isEqualTo(before);
  }

  @Test
  void stagingBlocksAndHostCopiesAreMadeOnceAndKept() {
    Kernel kernel = memory.compile(KernelSource.elementwise("y = y + 1"));
    try (UnifiedBuffer<float[]> y = memory.copyOf(pattern(1))) {
      long host = thereAndBack(y, kernel, 0);
      long before = ledger.calls(SpiCall.ALLOCATE);
      long misses = memory.statistics().poolMisses();
      for (int round = 1; round < 20; round++) {
        assertThat(thereAndBack(y, kernel, round)).as("the host's copy").isEqualTo(host);
      }
      assertThat(ledger.calls(SpiCall.ALLOCATE)).isEqualTo(before);
      assertThat(memory.statistics().poolMisses()).isEqualTo(misses);
    }
  }

  /** Moves a buffer's bytes in all ways, and answers where the host's copy lies. */
  private static long thereAndBack(UnifiedBuffer<float[]> y, Kernel kernel, int round) {
    y.copyFrom(pattern(round));
    kernel.execute(Arguments.of("y", y));
    long host = y.asReadOnlySegment().address();
    kernel.execute(Arguments.of("y", y));
    float[] expected = pattern(round);
    for (int i = 0; i < LENGTH; i++) {
      expected[i] = expected[i] + 1 + 1;
    }
    Patterns.assertEqual(contents(y), expected, "round " + round);
    return host;
  }

  @Test
  void twoKernelsInARowAreTwoLaunchesAndNothingElse() {
    try (UnifiedBuffer<float[]> x = memory.copyOf(pattern(1));
        UnifiedBuffer<float[]> y = memory.copyOf(pattern(2))) {
      Kernel kernel = memory.compile(KernelSource.elementwise("y = x + y"));
      kernel.execute(Arguments.of("x", x, "y", y));
      long writes = ledger.calls(SpiCall.WRITE);
      long reads = ledger.calls(SpiCall.READ);
      long compiled = ledger.calls(SpiCall.COMPILE);
      long launches = ledger.calls(SpiCall.LAUNCH);
      kernel.execute(Arguments.of("x", x, "y", y));
      kernel.execute(Arguments.of("x", y, "y", x));
      assertThat(ledger.calls(SpiCall.LAUNCH)).isEqualTo(launches + 2);
      assertThat(ledger.calls(SpiCall.WRITE)).isEqualTo(writes);
      assertThat(ledger.calls(SpiCall.READ)).isEqualTo(reads);
      assertThat(ledger.calls(SpiCall.COMPILE)).as("compiled once").isEqualTo(compiled);
    }
  }

  @Test
  void aCloseUnderARunningKernelFreesTheBlockAfterIt() {
    Kernel kernel = memory.compile(KernelSource.elementwise("y = y + 1"));
    UnifiedBuffer<float[]> y =
        memory.allocate(ElementType.FLOAT, LENGTH, Allocation.at(MemoryLocation.DEVICE).unpooled());
    y.copyFrom(pattern(1));
    device.pause();
    CompletableFuture<Void> running = kernel.executeAsync(Arguments.of("y", y));
    y.close();
    long free = device.memory().freeBytes();
    assertThat(running).isNotDone();
    device.resume();
    running.join();
    memory.synchronize();
    assertThat(device.memory().freeBytes()).isEqualTo(free + 4L * LENGTH);
  }

  @Test
  void whatWasCancelledBeforeItStartedNeverReachesTheDevice() {
    try (UnifiedBuffer<float[]> buffer = memory.copyOf(pattern(1))) {
      device.pause();
      Kernel kernel = memory.compile(KernelSource.elementwise("y = y * 2"));
      CompletableFuture<Void> first = kernel.executeAsync(Arguments.of("y", buffer));
      CompletableFuture<Void> second = buffer.copyFromAsync(pattern(2));
      assertThat(second.cancel(true)).isTrue();
      long bytes = ledger.hostToDeviceBytes();
      device.resume();
      first.join();
      assertThatThrownBy(second::join).isInstanceOf(CancellationException.class);
      float[] model = pattern(1);
      for (int i = 0; i < LENGTH; i++) {
        model[i] *= 2;
      }
      Patterns.assertEqual(contents(buffer), model, "as if it had never been asked for");
      assertThat(ledger.hostToDeviceBytes()).isEqualTo(bytes);
    }
  }

  @Test
  void aFailedWriteFailsWhatWaitsBehindItAndAFullWriteHeals() {
    try (UnifiedBuffer<float[]> buffer = memory.copyOf(pattern(1))) {
      device.pause();
      faults.fail(SpiCall.WRITE, 1, Failure.BROKEN);
      CompletableFuture<Void> write = buffer.copyFromAsync(pattern(2));
      CompletableFuture<Void> read = buffer.copyToAsync(new float[LENGTH]);
      device.resume();
      Throwable cause = causeOf(write);
      assertThat(cause).hasStackTraceContaining("INJECTED_FAULT");
      assertThat(causeOf(read)).hasStackTraceContaining("INJECTED_FAULT");
      buffer.copyFrom(pattern(3));
      Patterns.assertEqual(contents(buffer), pattern(3), "healed");
    }
  }

  @Test
  void aFailedFetchLeavesTheContentsWhereTheyAre() {
    try (UnifiedBuffer<float[]> buffer = memory.copyOf(pattern(1))) {
      faults.fail(SpiCall.READ, 1, Failure.BROKEN);
      assertThatThrownBy(buffer::asReadOnlySegment)
          .isInstanceOf(dev.tidepool.TidepoolException.class);
      Patterns.assertEqual(contents(buffer), pattern(1), "still on the device");
      Patterns.assertEqual(readFrom(buffer), pattern(1), "fetched at the second attempt");
    }
  }

  private static float[] readFrom(UnifiedBuffer<float[]> buffer) {
    float[] seen = new float[LENGTH];
    ElementType.FLOAT.read(buffer.asReadOnlySegment(), 0, seen, 0, LENGTH);
    return seen;
  }

  @Test
  void aFailedCopySaysWhatItCopiedAndWhichWay() {
    try (UnifiedBuffer<float[]> buffer =
        memory.allocate(
            ElementType.FLOAT, LENGTH, Allocation.at(MemoryLocation.DEVICE).tag("weights"))) {
      faults.fail(SpiCall.WRITE, 1, Failure.REFUSED);
      assertThatThrownBy(() -> buffer.copyFrom(pattern(1)))
          .isInstanceOf(TransferException.class)
          .hasMessageStartingWith(
              "copying " + LENGTH * Float.BYTES + " bytes to buffer 'weights' ");
      faults.fail(SpiCall.READ, 1, Failure.REFUSED);
      assertThatThrownBy(() -> contents(buffer))
          .isInstanceOf(TransferException.class)
          .hasMessageStartingWith(
              "copying " + LENGTH * Float.BYTES + " bytes out of buffer 'weights' ");
    }
  }

  @Test
  void theErrorOfAPrefetchComesAtTheNextUse() {
    try (UnifiedBuffer<float[]> buffer =
        memory.allocate(ElementType.FLOAT, LENGTH, MemoryLocation.HOST)) {
      buffer.copyFrom(pattern(1));
      faults.fail(SpiCall.WRITE, 1, Failure.REFUSED);
      buffer.prefetchToDevice();
      memory.synchronize();
      assertThatThrownBy(() -> contents(buffer)).isInstanceOf(dev.tidepool.TidepoolException.class);
      Patterns.assertEqual(contents(buffer), pattern(1), "and only there");
    }
  }

  @Test
  void aPrefetchKeepsWhatItMovesWhenTheBufferIsClosed() {
    UnifiedBuffer<float[]> buffer = memory.allocate(ElementType.FLOAT, LENGTH, MemoryLocation.HOST);
    buffer.copyFrom(pattern(1));
    device.pause();
    buffer.prefetchToDevice();
    buffer.close();
    assertThat(memory.statistics().totalAllocated()).isEqualTo((long) LENGTH * Float.BYTES);
    device.resume();
    memory.synchronize();
    assertThat(memory.statistics().totalAllocated()).isZero();
  }

  @Test
  void aPrefetchOfWhatTheHostWritesIsRefused() {
    try (UnifiedBuffer<float[]> buffer =
            memory.allocate(ElementType.FLOAT, LENGTH, MemoryLocation.HOST);
        HostMapping _ = buffer.map(MapMode.WRITE)) {
      assertThatThrownBy(buffer::prefetchToDevice)
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("mapped");
    }
  }

  @Test
  void futuresCompleteOnTheLibrarysThreads() {
    try (UnifiedBuffer<float[]> buffer = memory.copyOf(pattern(1))) {
      device.pause();
      CompletableFuture<String> name =
          buffer.copyFromAsync(pattern(2)).thenApply(_ -> Thread.currentThread().getName());
      device.resume();
      assertThat(name.join()).doesNotContain("simulated").contains("tidepool");
    }
  }

  @Test
  void aLostDeviceFailsEverythingButClosing() {
    UnifiedBuffer<float[]> onDevice = memory.copyOf(pattern(1));
    UnifiedBuffer<float[]> onHost = memory.allocate(ElementType.FLOAT, LENGTH, MemoryLocation.HOST);
    onHost.copyFrom(pattern(2));
    faults.fail(1, Failure.DEVICE_LOST);
    assertThatThrownBy(() -> onDevice.copyFrom(pattern(3)))
        .isInstanceOf(dev.tidepool.TidepoolException.class)
        .hasStackTraceContaining("DEVICE_LOST");
    assertThatThrownBy(() -> contents(onDevice)).isInstanceOf(dev.tidepool.TidepoolException.class);
    Patterns.assertEqual(contents(onHost), pattern(2), "the host's memory is not lost");
    onDevice.close();
    onHost.close();
  }

  private static Throwable causeOf(CompletableFuture<?> future) {
    try {
      future.join();
    } catch (CompletionException e) {
      return e.getCause();
    }
    throw new AssertionError("it was done");
  }

  /** Such a launch consists of several operations: two transfers and the kernel. */
  @Test
  void whenAllOperationsHaveEndedTheFutureOfALaunchOverArraysIsDone() {
    Kernel kernel = memory.compile(KernelSource.elementwise("y = y + 1"));
    float[] y = new float[16];
    for (int i = 0; i < 3000; i++) {
      CompletableFuture<Void> launch = kernel.executeAsync(Arguments.of("y", y));
      memory.synchronize();
      assertThat(launch).as("round " + i).isDone();
    }
  }
}
