package dev.tidepool.testkit;

import dev.tidepool.testkit.conformance.Topic;
import dev.tidepool.testkit.simulated.SimulatedHardware;

class TwoPeersConformanceTest extends SimulatedConformance {
  TwoPeersConformanceTest() {
    super(SimulatedHardware.discrete(), SimulatedHardware.discrete());
  }

  @Override
  protected boolean runs(Class<? extends Topic> topic) {
    return OF_SEVERAL_DEVICES.contains(topic);
  }
}
