package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.AcceleratorProvider;
import dev.tidepool.spi.Discovery;
import dev.tidepool.spi.HostAccess;
import dev.tidepool.testkit.fault.Failure;
import dev.tidepool.testkit.fault.FaultInjector;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import dev.tidepool.testkit.workload.Operation;
import dev.tidepool.testkit.workload.Workload;
import dev.tidepool.transfer.TransferWay;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(QuietLog.class)
@Timeout(300)
class RandomWorkloadTest {
  private static final SimulatedHardware DISCRETE = SimulatedHardware.discrete();

  private static Tidepool open(AcceleratorProvider... providers) {
    return Discovery.using(List.of(providers), Tidepool::open);
  }

  private static void onSimulated(SimulatedHardware... hardware) {
    SimulatedProvider simulated = new SimulatedProvider(hardware);
    try (Tidepool tidepool = open(simulated)) {
      RandomWorkload workload =
          new RandomWorkload(tidepool, "simulated:0")
              .nativeFill(simulated.device("simulated:0").nativeFill());
      assertThat(workload.operations(10_000).run()).isPositive();
      assertThat(workload.operations(10_000).threads(4).run()).isPositive();
    }
    assertThat(simulated.violations()).isEmpty();
    assertThat(simulated.devices()).allMatch(device -> device.liveBlocks() == 0);
  }

  private static void underFaults(SimulatedHardware... hardware) {
    SimulatedProvider simulated = new SimulatedProvider(hardware);
    FaultInjector faults = new FaultInjector(simulated);
    try (Tidepool tidepool = open(faults)) {
      RandomWorkload workload =
          new RandomWorkload(tidepool, "simulated:0")
              .faults(faults)
              .nativeFill(simulated.device("simulated:0").nativeFill());
      assertThat(workload.operations(10_000).run()).isPositive();
      assertThat(workload.operations(10_000).threads(4).run()).isPositive();
    }
    assertThat(simulated.violations()).isEmpty();
    assertThat(simulated.devices()).allMatch(device -> device.liveBlocks() == 0);
  }

  @Test
  void theCpuEqualsTheModel() {
    try (Tidepool tidepool = open()) {
      RandomWorkload workload = new RandomWorkload(tidepool, "cpu:0");
      assertThat(workload.operations(10_000).run()).isPositive();
      assertThat(workload.operations(10_000).threads(4).run()).isPositive();
    }
  }

  @Test
  void aDiscreteDeviceEqualsTheModel() {
    onSimulated(DISCRETE);
  }

  @Test
  void twoDevicesEqualTheModel() {
    onSimulated(DISCRETE, DISCRETE);
  }

  @Test
  void twoDevicesThatDoNotReachEachOtherEqualTheModel() {
    onSimulated(DISCRETE.withoutPeers().withoutUnified(), DISCRETE.withoutPeers());
  }

  @Test
  void aDeviceThatSharesMemoryEqualsTheModel() {
    onSimulated(DISCRETE.withHostAccess(HostAccess.DIRECT));
  }

  @Test
  void aDeviceWhoseMemoryIsMappedEqualsTheModel() {
    onSimulated(DISCRETE.withHostAccess(HostAccess.MAPPED));
  }

  /** It has room for the largest two; UNIFIED buffers, which stay where they are, could fill it. */
  @Test
  void aFullDeviceEqualsTheModel() {
    SimulatedProvider simulated =
        new SimulatedProvider(DISCRETE.withoutUnified().withMemory(384 << 10).withPinned(64 << 10));
    try (Tidepool tidepool = open(simulated)) {
      assertThat(new RandomWorkload(tidepool, "simulated:0").operations(10_000).run()).isPositive();
    }
    assertThat(simulated.violations()).isEmpty();
  }

  @Test
  void failingCallsOfADiscreteDeviceSpoilNothingElse() {
    underFaults(DISCRETE);
  }

  @Test
  void failingCallsOfTwoDevicesSpoilNothingElse() {
    underFaults(DISCRETE, DISCRETE.withoutPeers());
  }

  @Test
  void failingCallsOfAMappedDeviceSpoilNothingElse() {
    underFaults(DISCRETE.withHostAccess(HostAccess.MAPPED));
  }

  @Test
  void failingCallsOfASharedDeviceSpoilNothingElse() {
    underFaults(DISCRETE.withHostAccess(HostAccess.DIRECT));
  }

  /** As many operations as {@code -Dtidepool.test.operations} says, on all kinds of devices. */
  @Test
  @EnabledIfSystemProperty(named = "tidepool.test.operations", matches = "[0-9]+")
  @Timeout(value = 4, unit = TimeUnit.HOURS)
  void aLongWorkloadEqualsTheModel() {
    int each = Integer.getInteger("tidepool.test.operations") / 4;
    for (SimulatedHardware hardware :
        List.of(DISCRETE, DISCRETE.withoutPeers().withHostAccess(HostAccess.MAPPED))) {
      for (boolean faulty : new boolean[] {false, true}) {
        SimulatedProvider simulated = new SimulatedProvider(hardware, DISCRETE);
        FaultInjector faults = new FaultInjector(simulated);
        try (Tidepool tidepool = open(faults)) {
          RandomWorkload workload =
              new RandomWorkload(tidepool, "simulated:0")
                  .threads(4)
                  .nativeFill(simulated.device("simulated:0").nativeFill());
          RandomWorkload chosen = faulty ? workload.faults(faults) : workload;
          assertThat(chosen.operations(each).run()).isPositive();
        }
        assertThat(simulated.violations()).isEmpty();
        assertThat(simulated.devices()).allMatch(device -> device.liveBlocks() == 0);
      }
    }
  }

  @Test
  void bytesTakeEveryWayThatThereIs() {
    SimulatedProvider simulated = new SimulatedProvider(DISCRETE, DISCRETE);
    Map<TransferWay, Long> transfers = new EnumMap<>(TransferWay.class);
    try (Tidepool tidepool = open(simulated)) {
      MemoryOptions options = MemoryOptions.builder().stagingChunk(4096).build();
      List<UnifiedMemoryManager> managers =
          Stream.of("simulated:0", "simulated:1", "simulated:1")
              .map(id -> UnifiedMemoryManager.create(tidepool.accelerator(id), options))
              .toList();
      Workload workload = new Workload(managers, null, tidepool.peers(), null);
      // Always the same ones, so that none of the ways is left to chance.
      Operation.list(1, 2_500, Workload.slots(), 0).forEach(workload::perform);
      assertThat(workload.finish()).isPositive();
      for (UnifiedMemoryManager manager : managers) {
        manager
            .transfers()
            .statistics()
            .ways()
            .forEach((way, sums) -> transfers.merge(way, sums.transfers(), Long::sum));
        manager.close();
      }
    }
    assertThat(transfers).containsOnlyKeys(TransferWay.values());
    assertThat(simulated.violations()).isEmpty();
  }

  @Test
  void elementsOfBuffersThatAreLongGoneCountToo() {
    try (Tidepool tidepool = open(new SimulatedProvider(DISCRETE));
        UnifiedMemoryManager memory =
            UnifiedMemoryManager.create(
                tidepool.accelerator("simulated:0"), MemoryOptions.defaults())) {
      long twice = readAgainAndAgain(memory, 1); // once by the operation, once by the end
      assertThat(twice).isPositive();
      assertThat(readAgainAndAgain(memory, 199)).isEqualTo(100 * twice);
    }
  }

  private static long readAgainAndAgain(UnifiedMemoryManager memory, int times) {
    Workload workload = new Workload(List.of(memory), null);
    for (int i = 0; i < times; i++) {
      for (Operation.Kind kind : List.of(Operation.Kind.REPLACE, Operation.Kind.READ_ALL)) {
        workload.perform(new Operation(i, kind, 0, 0, 4, 0, Failure.REFUSED));
      }
    }
    return workload.finish();
  }

  @Test
  void aWorkloadThatFailsNamesItsSeedAndIsShrunk() {
    SimulatedProvider simulated = new SimulatedProvider(DISCRETE);
    FaultInjector faults = new FaultInjector(simulated);
    try (Tidepool tidepool = open(faults)) {
      // The workload is not told of the faults: the first of them is a failure of the workload.
      RandomWorkload workload = new RandomWorkload(tidepool, "simulated:0").seed(42);
      Thread spoiler = Thread.ofPlatform().daemon().start(() -> spoil(faults));
      assertThatThrownBy(() -> workload.operations(2000).run())
          .isInstanceOf(AssertionError.class)
          .hasMessageContaining("seed 42");
      spoiler.interrupt();
    }
  }

  private static void spoil(FaultInjector faults) {
    while (!Thread.currentThread().isInterrupted()) {
      faults.fail(3, Failure.REFUSED);
      java.util.concurrent.locks.LockSupport.parkNanos(100_000);
    }
  }
}
