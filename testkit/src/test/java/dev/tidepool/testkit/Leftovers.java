package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.testkit.simulated.SimulatedProvider;

/** What is left of a simulated driver when all that used it is closed. */
final class Leftovers {
  private Leftovers() {}

  /** Fails if the driver was misused, or still has blocks or events. */
  static void assertNone(SimulatedProvider simulated) {
    assertThat(simulated.violations()).isEmpty();
    assertThat(simulated.devices())
        .allSatisfy(
            device -> {
              assertThat(device.liveBlocks()).as("blocks").isZero();
              assertThat(device.openEvents()).as("events").isZero();
            });
  }
}
