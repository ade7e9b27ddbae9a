package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Arguments;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.spi.HostAccess;
import dev.tidepool.testkit.fault.Failure;
import dev.tidepool.testkit.fault.FaultInjector;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Only a failed write fails what is queued behind it, also where reads are alone. */
@ExtendWith(QuietLog.class)
class FailedReadTest {
  private static final Duration LONG = Duration.ofSeconds(60);

  @Test
  void aReadThatFailsFailsNothingBehindIt() {
    SimulatedProvider simulated =
        new SimulatedProvider(SimulatedHardware.discrete().withHostAccess(HostAccess.MAPPED));
    FaultInjector faults = new FaultInjector(simulated);
    try (Tidepool tidepool = Discovery.using(List.of(faults), Tidepool::open)) {
      UnifiedMemoryManager memory = tidepool.memory();
      Kernel increment = memory.compile(KernelSource.elementwise("y = y + 1"));
      try (UnifiedBuffer<int[]> y = memory.copyOf(new int[1000])) {
        Arguments arguments = Arguments.of("y", y);
        increment.execute(arguments);
        simulated.device("simulated:0").pause();
        CompletableFuture<Void> kernel = increment.executeAsync(arguments);
        faults.fail(SpiCall.ACQUIRE, 1, Failure.REFUSED);
        CompletableFuture<Void> refused = y.copyToAsync(new int[1000]);
        int[] seen = new int[1000];
        CompletableFuture<Void> behind = y.copyToAsync(seen);
        simulated.device("simulated:0").resume();

        assertThat(kernel).succeedsWithin(LONG);
        assertThat(refused).failsWithin(LONG);
        assertThat(behind).succeedsWithin(LONG);
        assertThat(seen).containsOnly(2);
      }
    }
    assertThat(simulated.violations()).isEmpty();
  }
}
