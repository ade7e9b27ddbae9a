package dev.tidepool.testkit;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.tidepool.AcceleratorException;
import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.spi.LaunchOrder;
import dev.tidepool.testkit.fault.Failure;
import dev.tidepool.testkit.fault.FaultInjector;
import dev.tidepool.testkit.simulated.FailureModel;
import dev.tidepool.testkit.simulated.SimulatedDevice;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.lang.invoke.MethodHandles;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Kernels that are submitted behind kernels that have not ended. */
@Timeout(120)
class DeviceOrderTest {
  private static final int LENGTH = 100;
  private static final int UNDER_WAY = 512;

  private final List<Runnable> closing = new ArrayList<>();

  /** A Tidepool over one simulated device. */
  private record Rig(SimulatedProvider provider, FaultInjector faults, Tidepool tidepool) {
    SimulatedDevice device() {
      return provider.device("simulated:0");
    }

    UnifiedMemoryManager memory() {
      return tidepool.memory(tidepool.accelerator("simulated:0"));
    }

    Kernel kernel(String expression) {
      return memory().compile(KernelSource.elementwise(expression));
    }

    UnifiedBuffer<int[]> filled(MemoryLocation location, int value) {
      UnifiedBuffer<int[]> buffer = memory().allocate(ElementType.INT, LENGTH, location);
      int[] values = new int[LENGTH];
      java.util.Arrays.fill(values, value);
      buffer.copyFrom(values);
      return buffer;
    }

    long launches() {
      return device().ledger().calls(SpiCall.LAUNCH);
    }
  }

  private Rig open(SimulatedHardware hardware, MemoryOptions options) {
    SimulatedProvider provider = new SimulatedProvider(hardware);
    FaultInjector faults = new FaultInjector(provider);
    Tidepool tidepool = Discovery.using(List.of(faults), () -> Tidepool.open(options));
    Rig rig = new Rig(provider, faults, tidepool);
    closing.add(
        () -> {
          rig.device().resume();
          tidepool.close();
          assertThat(provider.violations()).isEmpty();
          assertThat(rig.device().openEvents()).isZero();
          assertThat(rig.device().liveBlocks()).isZero();
        });
    return rig;
  }

  private Rig open(SimulatedHardware hardware) {
    return open(hardware, MemoryOptions.defaults());
  }

  @AfterEach
  @Timeout(120)
  void close() {
    closing.forEach(Runnable::run);
  }

  private static int valueOf(UnifiedBuffer<int[]> buffer) {
    int[] values = new int[LENGTH];
    buffer.copyTo(values);
    assertThat(values).containsOnly(values[0]);
    return values[0];
  }

  private static List<CompletableFuture<Void>> execute(Kernel kernel, Arguments on, int times) {
    List<CompletableFuture<Void>> futures = new ArrayList<>();
    for (int i = 0; i < times; i++) {
      futures.add(kernel.executeAsync(on));
    }
    return futures;
  }

  private static Throwable causeOf(CompletableFuture<Void> future) {
    try {
      future.get(60, SECONDS);
    } catch (ExecutionException e) {
      return e.getCause();
    } catch (Exception e) {
      throw new AssertionError("the kernel does not end", e);
    }
    throw new AssertionError("the kernel did not fail");
  }

  @Test
  void anArgumentInPlaceIsOneHitWhereAnotherTravels() {
    Rig rig = open(SimulatedHardware.discrete().withLaunchOrder(LaunchOrder.ACROSS_QUEUES));
    UnifiedBuffer<int[]> x = rig.filled(MemoryLocation.DEVICE, 1);
    UnifiedBuffer<int[]> y = rig.filled(MemoryLocation.HOST, 2);
    long before = x.metrics().hits();
    rig.kernel("y = x + y").executeAsync(Arguments.of("x", x, "y", y)).join();
    assertThat(x.metrics().hits()).isEqualTo(before + 1);
    assertThat(valueOf(y)).isEqualTo(3);
  }

  @ParameterizedTest
  @EnumSource(
      value = LaunchOrder.class,
      names = {"IN_QUEUE", "ACROSS_QUEUES"})
  void aChainIsSubmittedWhileItsFirstKernelHasNotEnded(LaunchOrder order) {
    Rig rig = open(SimulatedHardware.discrete().withLaunchOrder(order));
    UnifiedBuffer<int[]> y = rig.filled(MemoryLocation.DEVICE, 1);
    Kernel next = rig.kernel("y = y + 1");
    rig.device().pause();
    List<CompletableFuture<Void>> futures = execute(next, Arguments.of("y", y), 20);
    await().until(() -> rig.launches() == 20);
    assertThat(futures).noneMatch(CompletableFuture::isDone);
    rig.device().resume();
    assertThat(valueOf(y)).isEqualTo(21);
    futures.forEach(CompletableFuture::join);
  }

  @Test
  void theHostKeepsTheOrderIfTheDeviceDoesNot() {
    Rig rig = open(SimulatedHardware.discrete().withLaunchOrder(LaunchOrder.HOST));
    checkOneAtATime(rig);
  }

  @Test
  void theHostKeepsTheOrderIfAnOptionSaysSo() {
    Rig rig =
        open(SimulatedHardware.discrete(), MemoryOptions.builder().deviceOrder(false).build());
    checkOneAtATime(rig);
  }

  private static void checkOneAtATime(Rig rig) {
    UnifiedBuffer<int[]> y = rig.filled(MemoryLocation.DEVICE, 1);
    UnifiedBuffer<int[]> other = rig.filled(MemoryLocation.DEVICE, 1);
    Kernel next = rig.kernel("y = y + 1");
    rig.device().pause();
    List<CompletableFuture<Void>> futures = execute(next, Arguments.of("y", y), 20);
    await().until(() -> rig.launches() == 1);
    // Kernels of other buffers go on, so there is a thread for them.
    futures.add(next.executeAsync(Arguments.of("y", other)));
    await().until(() -> rig.launches() == 2);
    rig.device().resume();
    futures.forEach(CompletableFuture::join);
    assertThat(valueOf(y)).isEqualTo(21);
  }

  @Test
  void aBoundedNumberIsUnderWayAndTheRestCanBeCancelled() {
    Rig rig = open(SimulatedHardware.discrete());
    UnifiedBuffer<int[]> y = rig.filled(MemoryLocation.DEVICE, 0);
    Kernel next = rig.kernel("y = y + 1");
    rig.device().pause();
    List<CompletableFuture<Void>> futures = execute(next, Arguments.of("y", y), 700);
    await().until(() -> rig.launches() == UNDER_WAY);
    assertThat(futures.get(10).cancel(false)).as("one that was submitted").isFalse();
    assertThat(futures.get(600).cancel(false)).as("one that was not").isTrue();
    assertThat(rig.launches()).isEqualTo(UNDER_WAY);
    rig.device().resume();
    futures.getLast().join();
    assertThat(valueOf(y)).isEqualTo(699);
    assertThat(futures.get(600)).isCancelled();
  }

  @Test
  void aDeviceWhoseLaunchesCostTimeRunsThemAfterItSlept() {
    Rig rig = open(SimulatedHardware.discrete().withLaunchCost(Duration.ofNanos(4000)));
    UnifiedBuffer<int[]> y = rig.filled(MemoryLocation.DEVICE, 0);
    Kernel next = rig.kernel("y = y + 1");
    for (int round = 1; round <= 3; round++) {
      execute(next, Arguments.of("y", y), 50).getLast().join();
      assertThat(valueOf(y)).isEqualTo(50 * round);
      // It looks for commands for some milliseconds.
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(20));
    }
  }

  @Test
  void chainsThatMeetWaitForEachOther() {
    Rig rig = open(SimulatedHardware.discrete().withJitter(Duration.ofMillis(1)));
    UnifiedBuffer<int[]> x = rig.filled(MemoryLocation.DEVICE, 1);
    UnifiedBuffer<int[]> y = rig.filled(MemoryLocation.DEVICE, 1);
    UnifiedBuffer<int[]> z = rig.filled(MemoryLocation.DEVICE, 0);
    Kernel twice = rig.kernel("a = a * 2");
    Kernel sum = rig.kernel("z = x + y + z");
    long expected = 0;
    rig.device().pause();
    for (int i = 1; i <= 20; i++) {
      twice.executeAsync(Arguments.of("a", x));
      twice.executeAsync(Arguments.of("a", y));
      sum.executeAsync(Arguments.of("x", x, "y", y, "z", z));
      expected += 2L << i;
    }
    await().until(() -> rig.launches() == 60);
    assertThat(rig.device().ledger().calls(SpiCall.AFTER)).as("waits of the host").isZero();
    rig.device().resume();
    assertThat(valueOf(z)).isEqualTo((int) expected);
  }

  @ParameterizedTest
  @EnumSource(FailureModel.class)
  void whatComesBehindAFailedKernelFailsWithTheSameCause(FailureModel model) throws Exception {
    Rig rig = open(SimulatedHardware.discrete().withFailures(model));
    UnifiedBuffer<int[]> y = rig.filled(MemoryLocation.DEVICE, 1);
    UnifiedBuffer<int[]> other = rig.filled(MemoryLocation.DEVICE, 1);
    UnifiedBuffer<int[]> result = rig.filled(MemoryLocation.DEVICE, 1);
    Kernel next = rig.kernel("y = y + 1");
    Kernel copy = rig.kernel("r = y + o");
    rig.device().pause();
    rig.device().failLaunch(4);
    List<CompletableFuture<Void>> futures = execute(next, Arguments.of("y", y), 10);
    await().until(() -> rig.launches() == 10);
    CompletableFuture<Void> apart = next.executeAsync(Arguments.of("y", other));
    CompletableFuture<Void> both = copy.executeAsync(Arguments.of("y", y, "o", other, "r", result));
    int[] read = {-1};
    CompletableFuture<Void> reading = result.copyToAsync(0, read, 0, 1);
    rig.device().resume();
    Throwable cause = causeOf(futures.get(3));
    assertThat(cause).isInstanceOf(AcceleratorException.class).hasMessageContaining("LAUNCH");
    if (model != FailureModel.STICKY) {
      // A lost device does not tell that commands had ended well before.
      futures.subList(0, 3).forEach(CompletableFuture::join);
    }
    for (int i = 4; i < 10; i++) {
      assertThat(causeOf(futures.get(i))).isSameAs(cause);
    }
    if (model == FailureModel.STICKY) {
      Throwable ofOther = apart.handle((done, failure) -> failure).get(60, SECONDS);
      assertThat(causeOf(both)).isIn(cause, ofOther);
    } else {
      assertThat(causeOf(both)).isSameAs(cause);
    }
    assertThat(causeOf(reading)).isSameAs(causeOf(both));
    assertThat(read).containsExactly(-1);
    if (model == FailureModel.STICKY) {
      assertThatThrownBy(() -> next.execute(Arguments.of("y", other)))
          .isInstanceOf(AcceleratorException.class);
    } else {
      apart.join();
      assertThat(valueOf(other)).isEqualTo(2);
      y.copyFrom(new int[LENGTH]);
      next.executeAsync(Arguments.of("y", y)).join();
      assertThat(valueOf(y)).isEqualTo(1);
    }
  }

  @ParameterizedTest
  @EnumSource(FailureModel.class)
  void theHostsBytesCountIfAKernelFailsAndOthersWereSubmittedBehindIt(FailureModel model) {
    Rig rig = open(SimulatedHardware.discrete().withFailures(model));
    UnifiedBuffer<int[]> y = rig.filled(MemoryLocation.HOST, 7);
    Kernel next = rig.kernel("y = y + 1");
    next.execute(Arguments.of("y", y));
    assertThat(y.asReadOnlySegment().get(java.lang.foreign.ValueLayout.JAVA_INT, 0)).isEqualTo(8);
    rig.device().pause();
    rig.device().failLaunch(1);
    List<CompletableFuture<Void>> futures = execute(next, Arguments.of("y", y), 5);
    await().until(() -> rig.launches() == 6);
    rig.device().resume();
    assertThat(futures).allSatisfy(future -> causeOf(future));
    assertThat(valueOf(y)).isEqualTo(8);
  }

  @Test
  void nothingIsPushedUnderAKernelThatRunsBehindAFailedOne() {
    Rig rig = open(SimulatedHardware.discrete().withFailures(FailureModel.RUNS_ON));
    UnifiedBuffer<int[]> y = rig.filled(MemoryLocation.HOST, 7);
    UnifiedBuffer<int[]> z = rig.filled(MemoryLocation.DEVICE, 0);
    Kernel next = rig.kernel("y = y + 1");
    Kernel copy = rig.kernel("z = y");
    next.execute(Arguments.of("y", y));
    assertThat(y.asReadOnlySegment().get(java.lang.foreign.ValueLayout.JAVA_INT, 0)).isEqualTo(8);
    rig.device().pause();
    rig.device().failLaunch(1);
    List<CompletableFuture<Void>> futures = execute(next, Arguments.of("y", y), 2);
    await().until(() -> rig.launches() == 3);
    rig.device().admit(1);
    Throwable cause = causeOf(futures.get(0));
    // The second kernel has not begun; what is asked for now would push the host's bytes under it.
    CompletableFuture<Void> behind = copy.executeAsync(Arguments.of("y", y, "z", z));
    rig.device().resume();
    assertThat(causeOf(futures.get(1))).isSameAs(cause);
    assertThat(causeOf(behind)).isSameAs(cause);
    copy.execute(Arguments.of("y", y, "z", z));
    assertThat(valueOf(z)).isEqualTo(8);
    assertThat(valueOf(y)).isEqualTo(8);
  }

  @Test
  void aKernelThatIsRefusedFailsWhatComesBehindIt() {
    Rig rig = open(SimulatedHardware.discrete());
    UnifiedBuffer<int[]> y = rig.filled(MemoryLocation.DEVICE, 1);
    Kernel next = rig.kernel("y = y + 1");
    rig.device().pause();
    rig.faults().fail(SpiCall.LAUNCH, 4, Failure.REFUSED);
    List<CompletableFuture<Void>> futures = execute(next, Arguments.of("y", y), 6);
    await().until(() -> rig.faults().fired().isPresent());
    assertThat(futures).noneMatch(CompletableFuture::isDone);
    rig.device().resume();
    futures.subList(0, 3).forEach(CompletableFuture::join);
    Throwable cause = causeOf(futures.get(3));
    assertThat(cause).hasMessageContaining("INJECTED_FAULT");
    assertThat(causeOf(futures.get(4))).isSameAs(cause);
    assertThat(causeOf(futures.get(5))).isSameAs(cause);
    assertThat(rig.launches()).isEqualTo(3);
  }

  @Test
  void hostAccessComesBehindAllThatWasSubmitted() {
    Rig rig = open(SimulatedHardware.discrete().withLatency(Duration.ofMillis(2)));
    UnifiedBuffer<int[]> y = rig.filled(MemoryLocation.DEVICE, 0);
    Kernel next = rig.kernel("y = y + 1");
    for (int round = 1; round <= 5; round++) {
      execute(next, Arguments.of("y", y), 10);
      assertThat(valueOf(y)).isEqualTo(10 * round);
    }
    execute(next, Arguments.of("y", y), 10);
    next.execute(Arguments.of("y", y));
    assertThat(valueOf(y)).isEqualTo(61);
    execute(next, Arguments.of("y", y), 10);
    y.close();
  }

  static void shareOut(int i, int parts, int[] y) {
    y[i] = y[i] / parts;
  }

  private static CompletableFuture<Void> divided(Kernel kernel, int parts, UnifiedBuffer<?> y) {
    return kernel.executeAsync(Arguments.of("parts", parts, "y", y), LaunchRange.of(LENGTH));
  }

  @Test
  void methodsWhoseItemsMayFailAreSubmittedBehindEachOther() {
    Rig rig = open(SimulatedHardware.discrete());
    UnifiedBuffer<int[]> y = rig.filled(MemoryLocation.DEVICE, 1 << 20);
    Kernel kernel = rig.memory().compile(KernelSource.method(MethodHandles.lookup(), "shareOut"));
    rig.device().pause();
    List<CompletableFuture<Void>> futures = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      futures.add(divided(kernel, 2, y));
    }
    await().until(() -> rig.launches() == 10);
    assertThat(futures).noneMatch(CompletableFuture::isDone);
    rig.device().resume();
    futures.forEach(CompletableFuture::join);
    assertThat(valueOf(y)).isEqualTo(1 << 10);
  }

  @ParameterizedTest
  @EnumSource(FailureModel.class)
  void whatComesBehindAnItemThatFailsFailsWithTheSameCause(FailureModel model) {
    Rig rig = open(SimulatedHardware.discrete().withFailures(model));
    UnifiedBuffer<int[]> y = rig.filled(MemoryLocation.DEVICE, 64);
    UnifiedBuffer<int[]> other = rig.filled(MemoryLocation.DEVICE, 64);
    Kernel kernel = rig.memory().compile(KernelSource.method(MethodHandles.lookup(), "shareOut"));
    rig.device().pause();
    CompletableFuture<Void> before = divided(kernel, 2, y);
    CompletableFuture<Void> fails = divided(kernel, 0, y);
    CompletableFuture<Void> behind = divided(kernel, 2, y);
    CompletableFuture<Void> sum =
        rig.kernel("o = o + y").executeAsync(Arguments.of("o", other, "y", y));
    await().until(() -> rig.launches() == 4);
    rig.device().resume();
    before.join();
    Throwable cause = causeOf(fails);
    assertThat(cause).isInstanceOf(ArithmeticException.class).hasMessageContaining("by zero");
    assertThat(cause.getStackTrace()[0].getMethodName()).isEqualTo("shareOut");
    assertThat(causeOf(behind)).isSameAs(cause);
    assertThat(causeOf(sum)).isSameAs(cause);
    y.copyFrom(new int[LENGTH]);
    divided(kernel, 2, y).join();
    assertThat(valueOf(y)).isZero();
  }

  @Test
  void aMethodThatIsRefusedLeavesNoCommandBehind() {
    Rig rig = open(SimulatedHardware.discrete());
    UnifiedBuffer<int[]> y = rig.filled(MemoryLocation.DEVICE, 64);
    Kernel kernel = rig.memory().compile(KernelSource.method(MethodHandles.lookup(), "shareOut"));
    divided(kernel, 2, y).join();
    for (SpiCall call : List.of(SpiCall.FILL, SpiCall.LAUNCH, SpiCall.READ)) {
      rig.faults().fail(call, 1, Failure.REFUSED);
      assertThat(causeOf(divided(kernel, 2, y)))
          .as(call.toString())
          .hasMessageContaining("INJECTED_FAULT");
      y.copyFrom(new int[LENGTH]);
      divided(kernel, 2, y).join();
      assertThat(valueOf(y)).isZero();
    }
  }
}
