package dev.tidepool.testkit;

import dev.tidepool.testkit.simulated.SimulatedHardware;

class TwoPeersConformanceTest extends SimulatedConformance {
  TwoPeersConformanceTest() {
    super(SimulatedHardware.discrete(), SimulatedHardware.discrete());
  }
}
