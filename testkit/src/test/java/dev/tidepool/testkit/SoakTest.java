package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.spi.HostAccess;
import dev.tidepool.testkit.simulated.SimulatedDevice;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.util.SplittableRandom;

/** A soak of simulated devices of each kind, and of the processor. */
final class SoakTest extends AcceleratorSoak {
  private SimulatedProvider simulated = new SimulatedProvider();

  @Override
  protected Machine machine(SplittableRandom random) {
    HostAccess access = HostAccess.values()[random.nextInt(HostAccess.values().length)];
    // What the host sees cannot be evicted, nor moved once it was exposed: it needs more room.
    long smallest = access == HostAccess.NONE ? 384L << 10 : 2L << 20;
    simulated =
        new SimulatedProvider(
            SimulatedHardware.discrete()
                .withMemory(smallest << random.nextInt(3))
                .withPinned((long) random.nextInt(128) << 10)
                .withHostAccess(access));
    String accelerator = random.nextInt(4) > 0 ? "simulated:0" : "cpu:0";
    return new Machine(simulated, accelerator, "host access " + access);
  }

  @Override
  protected void verifyAfterRound() {
    assertThat(simulated.violations()).isEmpty();
    assertThat(simulated.devices()).extracting(SimulatedDevice::liveBlocks).containsOnly(0);
  }
}
