package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Accelerator;
import dev.tidepool.AcceleratorException;
import dev.tidepool.ElementType;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.spi.AcceleratorProvider;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.conformance.Patterns;
import dev.tidepool.testkit.fault.Failure;
import dev.tidepool.testkit.fault.FaultInjector;
import dev.tidepool.testkit.simulated.DriverLedger;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import dev.tidepool.transfer.PeerAccess;
import dev.tidepool.transfer.PeerAccess.State;
import dev.tidepool.transfer.PeerAccess.Way;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Which devices copy from which, and what happens where none may. */
@Timeout(60)
class PeerAccessTest {
  private static final int LENGTH = 50_000;
  private static final long BYTES = 4L * LENGTH;

  /** The third copies from nobody, and everybody from it. */
  private final SimulatedProvider simulated =
      new SimulatedProvider(
          SimulatedHardware.discrete(),
          SimulatedHardware.discrete(),
          SimulatedHardware.discrete().withoutPeers());

  private final FaultInjector faults = new FaultInjector(simulated);
  private Tidepool tidepool = open(MemoryOptions.defaults());

  private Tidepool open(MemoryOptions options) {
    return Discovery.using(List.of(faults), () -> Tidepool.open(options));
  }

  @AfterEach
  void close() {
    simulated.devices().forEach(device -> device.resume());
    tidepool.close();
    assertThat(simulated.violations()).isEmpty();
  }

  private Accelerator accelerator(int number) {
    return tidepool.accelerator("simulated:" + number);
  }

  private DriverLedger ledger(int number) {
    return simulated.device("simulated:" + number).ledger();
  }

  private PeerAccess peers() {
    return tidepool.peers();
  }

  private Way way(int from, int to) {
    return peers().way(accelerator(from), accelerator(to));
  }

  private void copyAndCheck(int from, int to, long seed) {
    float[] sent = Patterns.array(ElementType.FLOAT, LENGTH, seed);
    try (UnifiedBuffer<float[]> source = tidepool.memory(accelerator(from)).copyOf(sent);
        UnifiedBuffer<float[]> target =
            tidepool.memory(accelerator(to)).allocate(ElementType.FLOAT, LENGTH)) {
      target.copyFrom(source);
      float[] arrived = new float[LENGTH];
      target.copyTo(arrived);
      assertThat(arrived).isEqualTo(sent);
    }
  }

  @Test
  void theFirstCopyOpensItsWayAndAllAreCounted() {
    assertThat(way(0, 1))
        .isEqualTo(
            new Way(accelerator(0), accelerator(1), State.ON_FIRST_USE, 0, 0, Duration.ZERO, 0, 0));
    copyAndCheck(0, 1, 1);
    copyAndCheck(0, 1, 2);
    assertThat(way(0, 1))
        .returns(State.ENABLED, Way::state)
        .returns(2L, Way::copies)
        .returns(2 * BYTES, Way::bytes)
        .returns(0L, Way::stagedCopies);
    assertThat(way(0, 1).bandwidth()).isPositive();
    assertThat(ledger(1).calls(SpiCall.ENABLE_PEER)).isEqualTo(1);
    assertThat(ledger(1).calls(SpiCall.COPY)).isEqualTo(2);
    assertThat(way(1, 0).state()).isEqualTo(State.ON_FIRST_USE);
  }

  @Test
  void theMatrixHasEveryOrderedPair() {
    List<Way> matrix = peers().matrix();
    assertThat(matrix.stream().map(way -> way.from().id() + " " + way.to().id()))
        .containsExactly(
            "simulated:0 simulated:1",
            "simulated:0 simulated:2",
            "simulated:0 cpu:0",
            "simulated:1 simulated:0",
            "simulated:1 simulated:2",
            "simulated:1 cpu:0",
            "simulated:2 simulated:0",
            "simulated:2 simulated:1",
            "simulated:2 cpu:0",
            "cpu:0 simulated:0",
            "cpu:0 simulated:1",
            "cpu:0 simulated:2");
    assertThat(matrix.stream().filter(Way::canReach).map(way -> way.from().id() + way.to().id()))
        .containsExactly(
            "simulated:0simulated:1",
            "simulated:1simulated:0",
            "simulated:2simulated:0",
            "simulated:2simulated:1");
    assertThat(matrix).noneMatch(Way::isEnabled);
  }

  @Test
  void aDisabledWayIsClosedAndBytesGoThroughTheHostUntilItIsEnabled() {
    copyAndCheck(0, 1, 1);
    peers().disable(accelerator(0), accelerator(1));
    peers().disable(accelerator(0), accelerator(1));
    assertThat(way(0, 1).state()).isEqualTo(State.DISABLED);
    assertThat(ledger(1).calls(SpiCall.DISABLE_PEER)).isEqualTo(1);
    copyAndCheck(0, 1, 2);
    assertThat(ledger(1).calls(SpiCall.COPY)).isEqualTo(1);
    assertThat(way(0, 1))
        .returns(1L, Way::copies)
        .returns(1L, Way::stagedCopies)
        .returns(BYTES, Way::stagedBytes);
    // The way back is another.
    copyAndCheck(1, 0, 3);
    assertThat(way(1, 0).copies()).isEqualTo(1);

    peers().enable(accelerator(0), accelerator(1));
    peers().enable(accelerator(0), accelerator(1));
    assertThat(way(0, 1).isEnabled()).isTrue();
    assertThat(ledger(1).calls(SpiCall.ENABLE_PEER)).isEqualTo(2);
    copyAndCheck(0, 1, 4);
    assertThat(way(0, 1).copies()).isEqualTo(2);
  }

  @Test
  void theOptionDisablesAllWaysAndOneMayBeEnabledByHand() {
    tidepool.close();
    tidepool = open(MemoryOptions.builder().peerAccess(false).build());
    assertThat(way(0, 1).state()).isEqualTo(State.DISABLED);
    copyAndCheck(0, 1, 1);
    assertThat(ledger(1).calls(SpiCall.COPY)).isZero();
    assertThat(way(0, 1).stagedCopies()).isEqualTo(1);
    peers().enable(accelerator(0), accelerator(1));
    copyAndCheck(0, 1, 2);
    assertThat(ledger(1).calls(SpiCall.COPY)).isEqualTo(1);
    copyAndCheck(1, 0, 3);
    assertThat(ledger(0).calls(SpiCall.COPY)).isZero();
  }

  @Test
  void whereThereIsNoWayNoneCanBeEnabledAndBytesGoThroughTheHost() {
    assertThat(way(0, 2).state()).isEqualTo(State.UNREACHABLE);
    assertThatThrownBy(() -> peers().enable(accelerator(0), accelerator(2)))
        .isInstanceOf(UnsupportedOperationException.class)
        .hasMessageContaining("simulated:2 (Simulated discrete)")
        .hasMessageContaining("simulated:0 (Simulated discrete)");
    peers().disable(accelerator(0), accelerator(2));
    copyAndCheck(0, 2, 1);
    assertThat(way(0, 2)).returns(1L, Way::stagedCopies).returns(0L, Way::copies);
  }

  @Test
  void aRefusedWayIsNotTriedAgainButByHand() {
    faults.fail(SpiCall.ENABLE_PEER, 1, Failure.REFUSED);
    copyAndCheck(0, 1, 1);
    copyAndCheck(0, 1, 2);
    assertThat(way(0, 1))
        .returns(State.REFUSED, Way::state)
        .returns(2L, Way::stagedCopies)
        .returns(0L, Way::copies);
    faults.fail(SpiCall.ENABLE_PEER, 1, Failure.REFUSED);
    assertThatThrownBy(() -> peers().enable(accelerator(0), accelerator(1)))
        .isInstanceOf(AcceleratorException.class);
    assertThat(way(0, 1).state()).isEqualTo(State.REFUSED);
    peers().enable(accelerator(0), accelerator(1));
    copyAndCheck(0, 1, 3);
    assertThat(way(0, 1).copies()).isEqualTo(1);
  }

  @Test
  void aWayThatIsDisabledUnderACopyIsClosedBehindIt() throws Exception {
    copyAndCheck(0, 1, 1);
    float[] sent = Patterns.array(ElementType.FLOAT, LENGTH, 5);
    try (UnifiedBuffer<float[]> source = tidepool.memory(accelerator(0)).copyOf(sent);
        UnifiedBuffer<float[]> target =
            tidepool.memory(accelerator(1)).allocate(ElementType.FLOAT, LENGTH)) {
      simulated.device("simulated:1").pause();
      CompletableFuture<Void> copy = target.copyFromAsync(source);
      while (ledger(1).calls(SpiCall.COPY) < 2) {
        Thread.sleep(1);
      }
      peers().disable(accelerator(0), accelerator(1));
      assertThat(ledger(1).calls(SpiCall.DISABLE_PEER)).as("a copy is on it").isZero();
      simulated.device("simulated:1").resume();
      copy.join();
      assertThat(ledger(1).calls(SpiCall.DISABLE_PEER)).isEqualTo(1);
      float[] arrived = new float[LENGTH];
      target.copyTo(arrived);
      assertThat(arrived).isEqualTo(sent);
    }
  }

  @Test
  void copiesArriveWhileAnotherThreadOpensAndClosesTheWay() throws Exception {
    Thread switching =
        Thread.ofPlatform()
            .start(
                () -> {
                  while (!Thread.currentThread().isInterrupted()) {
                    peers().disable(accelerator(0), accelerator(1));
                    peers().enable(accelerator(0), accelerator(1));
                  }
                });
    try {
      for (int round = 0; round < 200; round++) {
        copyAndCheck(0, 1, round);
      }
    } finally {
      switching.interrupt();
      switching.join();
    }
    Way way = way(0, 1);
    assertThat(way.copies() + way.stagedCopies()).isEqualTo(200);
    long opened = ledger(1).calls(SpiCall.ENABLE_PEER) - ledger(1).calls(SpiCall.DISABLE_PEER);
    assertThat(opened).isEqualTo(way.isEnabled() ? 1 : 0);
  }

  /** The simulated devices, with something that is done while a driver opens a way. */
  private Tidepool openThatRuns(Runnable whileOpening) {
    AcceleratorProvider provider =
        new AcceleratorProvider() {
          @Override
          public String name() {
            return simulated.name();
          }

          @Override
          public Discovery discover() {
            Discovery found = simulated.discover();
            return new Discovery(
                found.devices().stream().map(device -> hooked(device, whileOpening)).toList(),
                found.notes());
          }
        };
    return Discovery.using(List.of(provider), Tidepool::open);
  }

  private record Hook(Device device, Runnable whileOpening) implements InvocationHandler {
    @Override
    public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
      if (method.getName().equals("enablePeer")) {
        whileOpening.run();
      }
      Object[] bare =
          arguments == null ? null : Stream.of(arguments).map(Hook::bare).toArray(Object[]::new);
      try {
        return method.invoke(device, bare);
      } catch (InvocationTargetException e) {
        throw e.getCause();
      }
    }

    private static Object bare(Object argument) {
      return argument != null
              && Proxy.isProxyClass(argument.getClass())
              && Proxy.getInvocationHandler(argument) instanceof Hook hook
          ? hook.device
          : argument;
    }
  }

  private static Device hooked(Device device, Runnable whileOpening) {
    return (Device)
        Proxy.newProxyInstance(
            Device.class.getClassLoader(),
            new Class<?>[] {Device.class},
            new Hook(device, whileOpening));
  }

  @Test
  void aWayThatIsDisabledWhileTheFirstCopyOpensItStaysDisabled() throws Exception {
    tidepool.close();
    List<Thread> disabling = new ArrayList<>();
    tidepool =
        openThatRuns(
            () -> {
              Thread thread =
                  Thread.ofPlatform().start(() -> peers().disable(accelerator(0), accelerator(1)));
              disabling.add(thread);
              awaitWaiting(thread);
            });
    copyAndCheck(0, 1, 1);
    disabling.getFirst().join();
    assertThat(way(0, 1).state()).isEqualTo(State.DISABLED);
    copyAndCheck(0, 1, 2);
    assertThat(way(0, 1).copies()).isZero();
    assertThat(ledger(1).calls(SpiCall.ENABLE_PEER)).isEqualTo(1);
    assertThat(ledger(1).calls(SpiCall.DISABLE_PEER)).isEqualTo(1);
  }

  @Test
  void devicesAreClosedWhenTheirDriversHaveOpenedWays() throws Exception {
    tidepool.close();
    List<Thread> closing = new ArrayList<>();
    AtomicLong closedMeanwhile = new AtomicLong();
    tidepool =
        openThatRuns(
            () -> {
              Thread thread = Thread.ofPlatform().start(tidepool::close);
              closing.add(thread);
              awaitWaiting(thread);
              closedMeanwhile.set(ledger(1).calls(SpiCall.CLOSE_DEVICE));
            });
    long before = ledger(1).calls(SpiCall.CLOSE_DEVICE);
    peers().enable(accelerator(0), accelerator(1));
    closing.getFirst().join();
    assertThat(closedMeanwhile).hasValue(before);
    assertThat(ledger(1).calls(SpiCall.CLOSE_DEVICE)).isEqualTo(before + 1);
  }

  /** Until the thread waits for a lock, or has ended. */
  private static void awaitWaiting(Thread thread) {
    while (thread.getState() != Thread.State.WAITING && thread.isAlive()) {
      Thread.onSpinWait();
    }
  }

  @Test
  void acceleratorsOfOthersAreRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> way(0, 0))
        .withMessageContaining("simulated:0 to itself");
    try (Tidepool other = open(MemoryOptions.defaults())) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> other.peers().enable(accelerator(0), accelerator(1)))
          .withMessageContaining("another Tidepool");
    }
    PeerAccess old = peers();
    Accelerator first = accelerator(0);
    Accelerator second = accelerator(1);
    tidepool.close();
    assertThatIllegalStateException().isThrownBy(old::matrix).withMessageContaining("closed");
    assertThatIllegalStateException().isThrownBy(() -> old.enable(first, second));
  }
}
