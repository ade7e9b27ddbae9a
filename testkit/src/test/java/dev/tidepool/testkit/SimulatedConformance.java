package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Tidepool;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.util.List;

/** The suite over simulated devices, which report what a real driver would punish. */
abstract class SimulatedConformance extends AcceleratorConformance {
  private final SimulatedProvider provider;
  private int reported;

  SimulatedConformance(SimulatedHardware... hardware) {
    provider = new SimulatedProvider(hardware);
  }

  @Override
  protected Tidepool open() {
    return Discovery.using(List.of(provider), Tidepool::open);
  }

  @Override
  protected String accelerator() {
    return "simulated:0";
  }

  @Override
  protected void verifyAfterEach() {
    List<String> all = provider.violations();
    List<String> fresh = all.subList(reported, all.size());
    reported = all.size();
    assertThat(fresh).as("what a driver would punish").isEmpty();
  }

  @Override
  protected void verifyAfterAll() {
    verifyAfterEach();
    provider
        .devices()
        .forEach(
            device -> {
              assertThat(device.liveBlocks()).as("blocks of " + device).isZero();
              assertThat(device.openEvents()).as("events of " + device).isZero();
            });
  }
}
