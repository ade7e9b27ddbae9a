package dev.tidepool.testkit;

import dev.tidepool.testkit.simulated.SimulatedHardware;

class DiscreteConformanceTest extends SimulatedConformance {
  DiscreteConformanceTest() {
    super(SimulatedHardware.discrete());
  }
}
