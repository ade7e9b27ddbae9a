package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.spi.HostAccess;
import dev.tidepool.testkit.fault.Failure;
import dev.tidepool.testkit.fault.FaultInjector;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import dev.tidepool.testkit.workload.Operation;
import dev.tidepool.testkit.workload.Workload;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * One scenario, run again and again, each time with another call of the driver failing: nothing
 * leaks, and whatever no failed write hit is exact. By default each call fails in one of the ways,
 * which is another one on each kind of device; {@code -Dtidepool.test.long=true} runs all.
 */
@ExtendWith(QuietLog.class)
@Timeout(300)
class FaultSweepTest {
  private static final int OPERATIONS = 90;
  private static final long SEED = 20_261_120;

  // Without damage, of which nobody could tell.
  private static final List<Failure> FAILURES =
      Stream.of(Failure.values()).filter(failure -> failure != Failure.DAMAGED).toList();

  static Stream<Arguments> devicesAndFailures() {
    return Stream.of(HostAccess.values())
        .flatMap(access -> FAILURES.stream().map(failure -> Arguments.of(access, failure)));
  }

  private static boolean isTried(long nth, HostAccess access, Failure failure) {
    return Boolean.getBoolean("tidepool.test.long")
        || (nth + access.ordinal()) % FAILURES.size() == FAILURES.indexOf(failure);
  }

  @ParameterizedTest(name = "of a {0} device, {1}")
  @MethodSource("devicesAndFailures")
  void eachCallInTurnFails(HostAccess access, Failure failure) {
    SimulatedHardware hardware = SimulatedHardware.discrete().withHostAccess(access);
    long calls = run(hardware, 0, failure);
    assertThat(calls).as("calls of the scenario").isGreaterThan(50);
    List<String> broken = new ArrayList<>();
    for (long nth = 1; nth <= calls && broken.size() < 5; nth++) {
      if (isTried(nth, access, failure)) {
        try {
          run(hardware, nth, failure);
        } catch (Throwable e) {
          broken.add("call %d of %d: %s".formatted(nth, calls, e));
        }
      }
    }
    assertThat(broken).isEmpty();
  }

  /** Runs the scenario with one failing call, or none for 0; returns how many may fail. */
  private static long run(SimulatedHardware hardware, long nth, Failure failure) {
    SimulatedProvider simulated = new SimulatedProvider(hardware);
    FaultInjector faults = new FaultInjector(simulated);
    if (nth > 0) {
      faults.fail(nth, failure);
    }
    Tidepool tidepool = Discovery.using(List.of(faults), Tidepool::open);
    try (tidepool) {
      MemoryOptions options = MemoryOptions.builder().stagingChunk(4096).build();
      UnifiedMemoryManager memory =
          UnifiedMemoryManager.create(tidepool.accelerator("simulated:0"), options);
      Workload workload = new Workload(List.of(memory), faults);
      Operation.list(SEED, OPERATIONS, Workload.slots(), 0).forEach(workload::perform);
      assertThat(workload.finish()).isNotNegative();
      memory.close();
      assertThat(memory.statistics().activeBuffers()).as("buffers").isZero();
      assertThat(memory.statistics().totalPooled()).as("pooled bytes").isZero();
    }
    Leftovers.assertNone(simulated);
    return faults.calls();
  }
}
