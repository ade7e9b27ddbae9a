package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.tidepool.AcceleratorException;
import dev.tidepool.Arguments;
import dev.tidepool.BufferState;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.TidepoolException;
import dev.tidepool.TransferException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.testkit.conformance.Patterns;
import dev.tidepool.testkit.fault.Failure;
import java.lang.invoke.MethodHandles;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What kernels and prefetches move by themselves is tried again like every other transfer. */
@ExtendWith(QuietLog.class)
@Timeout(60)
class MovementRecoveryTest {
  private static final int LENGTH = 100_000;

  @RegisterExtension
  private final SimulatedRig rig =
      new SimulatedRig(MemoryOptions.builder().transferRetryTime(Duration.ofMinutes(5)));

  private final UnifiedMemoryManager memory = rig.memory();
  private final Kernel doubling = memory.compile(KernelSource.elementwise("y = x + y"));

  private static int[] pattern(long seed) {
    return Patterns.array(ElementType.INT, LENGTH, seed);
  }

  private UnifiedBuffer<int[]> onHost(long seed) {
    UnifiedBuffer<int[]> buffer = memory.allocate(ElementType.INT, LENGTH, MemoryLocation.HOST);
    buffer.copyFrom(pattern(seed));
    return buffer;
  }

  private static void assertHolds(UnifiedBuffer<int[]> buffer, int[] expected) {
    int[] read = new int[LENGTH];
    buffer.copyTo(read);
    Patterns.assertEqual(read, expected, "the buffer");
  }

  private static int[] sum(long one, long other) {
    int[] sum = pattern(one);
    int[] added = pattern(other);
    for (int i = 0; i < LENGTH; i++) {
      sum[i] += added[i];
    }
    return sum;
  }

  private long retries() {
    return memory.transfers().statistics().retries();
  }

  private long launches() {
    return rig.calls(SpiCall.LAUNCH);
  }

  @Test
  void argumentsThatWereDisturbedOnTheirWayAreBroughtAgainAndTheKernelRunsOnce() {
    UnifiedBuffer<int[]> x = onHost(1);
    UnifiedBuffer<int[]> y = onHost(2);
    rig.faults().fail(SpiCall.WRITE, 1, Failure.TRANSIENT);
    doubling.execute(Arguments.of("x", x, "y", y));
    assertThat(launches()).isEqualTo(1);
    assertThat(retries()).isEqualTo(1);
    assertHolds(y, sum(1, 2));
    UnifiedBuffer<int[]> z = onHost(3);
    rig.faults().fail(SpiCall.WRITE, 1, Failure.TRANSIENT);
    doubling.executeAsync(Arguments.of("x", x, "y", z)).join();
    assertThat(launches()).isEqualTo(2);
    assertThat(retries()).isEqualTo(2);
    assertHolds(z, sum(1, 3));
  }

  @Test
  void argumentsThatNeverArriveFailTheKernelAndAreValidOnTheHost() {
    UnifiedBuffer<int[]> x = onHost(1);
    UnifiedBuffer<int[]> y = onHost(2);
    rig.faults().failAlways(SpiCall.WRITE, Failure.TRANSIENT);
    assertThatThrownBy(() -> doubling.execute(Arguments.of("x", x, "y", y)))
        .isInstanceOf(AcceleratorException.class);
    assertThat(retries()).isEqualTo(3);
    assertThat(launches()).isZero();
    rig.faults().disarm();
    assertHolds(x, pattern(1));
    assertHolds(y, pattern(2));
    doubling.execute(Arguments.of("x", x, "y", y));
    assertHolds(y, sum(1, 2));
  }

  @Test
  void aKernelThatFailedIsNotRunAgain() {
    UnifiedBuffer<int[]> x = onHost(1);
    UnifiedBuffer<int[]> y = onHost(2);
    rig.faults().fail(SpiCall.LAUNCH, 1, Failure.TRANSIENT);
    assertThatThrownBy(() -> doubling.execute(Arguments.of("x", x, "y", y)))
        .isInstanceOf(AcceleratorException.class);
    assertThat(launches()).isEqualTo(1);
    assertThat(retries()).isZero();
  }

  @Test
  void whatAFailedKernelHasWrittenDoesNotCountWhereTheHostHadTheBytes() {
    UnifiedBuffer<int[]> x = onHost(1);
    UnifiedBuffer<int[]> y = onHost(2);
    y.synchronize();
    rig.faults().fail(SpiCall.LAUNCH, 1, Failure.BROKEN);
    assertThatThrownBy(() -> doubling.execute(Arguments.of("x", x, "y", y)))
        .isInstanceOf(AcceleratorException.class);
    // The next kernel computes with the device's copy, which the failed one has changed.
    doubling.execute(Arguments.of("x", x, "y", y));
    assertHolds(y, sum(1, 2));
  }

  /** A Java kernel: the library reads afterwards whether an item has failed. */
  static void increment(int i, int[] y) {
    y[i]++;
  }

  @Test
  void aKernelWhoseOutcomeCannotBeReadHasEndedWhenThatIsTold() {
    UnifiedBuffer<int[]> y = memory.allocate(ElementType.INT, LENGTH);
    y.copyFrom(pattern(1));
    Kernel kernel = memory.compile(KernelSource.method(MethodHandles.lookup(), "increment"));
    kernel.execute(Arguments.inOrder(y));
    rig.device().pause();
    rig.faults().fail(SpiCall.READ, 1, Failure.REFUSED);
    CompletableFuture<Void> call =
        CompletableFuture.runAsync(
            () -> kernel.execute(Arguments.inOrder(y)),
            task -> Thread.ofPlatform().daemon().start(task));
    await().until(() -> rig.faults().fired().isPresent());
    assertThatThrownBy(() -> call.get(100, TimeUnit.MILLISECONDS))
        .as("while the kernel runs")
        .isInstanceOf(TimeoutException.class);
    rig.device().resume();
    assertThatThrownBy(call::join).hasCauseInstanceOf(AcceleratorException.class);
  }

  @Test
  void afterAFailedFillBothSidesStillAgree() {
    UnifiedBuffer<int[]> x = onHost(1);
    UnifiedBuffer<int[]> zeros = memory.allocate(ElementType.INT, LENGTH);
    zeros.fill((byte) 0);
    x.synchronize();
    // From here on the device is the newer side, but not in the slice below.
    memory.compile(KernelSource.elementwise("x = 7")).execute(Arguments.of("x", x.slice(0, 10)));
    UnifiedBuffer<int[]> slice = x.slice(1000, 1000);
    rig.faults().fail(SpiCall.FILL, 1, Failure.BROKEN);
    assertThatThrownBy(() -> slice.fill((byte) 3)).isInstanceOf(TidepoolException.class);
    doubling.execute(Arguments.of("x", x, "y", zeros));
    int[] onDevice = new int[1000];
    zeros.copyTo(1000, onDevice, 0, onDevice.length);
    int[] onHost = new int[1000];
    slice.copyTo(onHost);
    assertThat(onHost).isEqualTo(onDevice);
  }

  @Test
  void aCopyOfOverlappingPartsIsNotTriedAgainBecauseItMayHaveChangedItsSource() {
    UnifiedBuffer<int[]> x = memory.allocate(ElementType.INT, LENGTH);
    x.copyFrom(pattern(1));
    rig.faults().fail(SpiCall.COPY, 2, Failure.TRANSIENT);
    assertThatThrownBy(() -> x.slice(100, LENGTH - 100).copyFrom(x.slice(0, LENGTH - 100)))
        .isInstanceOf(TidepoolException.class);
    assertThat(retries()).isZero();
    rig.faults().fail(SpiCall.COPY, 1, Failure.TRANSIENT);
    x.slice(0, 100).copyFrom(x.slice(500, 100));
    assertThat(retries()).isEqualTo(1);
  }

  @Test
  void aPrefetchThatWasDisturbedIsDoneAgainAndNobodyHears() {
    UnifiedBuffer<int[]> x = onHost(1);
    rig.faults().fail(SpiCall.WRITE, 1, Failure.TRANSIENT);
    x.prefetchToDevice();
    memory.synchronize();
    assertThat(x.state()).isEqualTo(BufferState.SYNCHRONIZED);
    doubling.execute(Arguments.of("x", x, "y", x));
    rig.faults().fail(SpiCall.READ, 1, Failure.TRANSIENT);
    x.prefetchToHost();
    memory.synchronize();
    assertThat(x.state()).isEqualTo(BufferState.SYNCHRONIZED);
    assertThat(retries()).isEqualTo(2);
    assertHolds(x, sum(1, 1));
  }

  @Test
  void aPrefetchThatNeverGetsThroughFailsTheNextUseAlone() {
    UnifiedBuffer<int[]> x = onHost(1);
    rig.faults().failAlways(SpiCall.WRITE, Failure.TRANSIENT);
    x.prefetchToDevice();
    memory.synchronize();
    rig.faults().disarm();
    assertThat(retries()).isEqualTo(3);
    assertThatThrownBy(() -> x.copyTo(new int[LENGTH])).isInstanceOf(TransferException.class);
    assertHolds(x, pattern(1));
  }
}
