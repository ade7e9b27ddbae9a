package dev.tidepool.testkit;

import dev.tidepool.testkit.simulated.SimulatedHardware;

class TwoStrangersConformanceTest extends SimulatedConformance {
  TwoStrangersConformanceTest() {
    super(
        SimulatedHardware.discrete().withoutPeers().withoutUnified(),
        SimulatedHardware.discrete().withoutPeers());
  }
}
