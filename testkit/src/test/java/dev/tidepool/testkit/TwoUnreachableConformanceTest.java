package dev.tidepool.testkit;

import dev.tidepool.testkit.conformance.Topic;
import dev.tidepool.testkit.simulated.SimulatedHardware;

class TwoUnreachableConformanceTest extends SimulatedConformance {
  TwoUnreachableConformanceTest() {
    super(
        SimulatedHardware.discrete().withoutPeers().withoutUnified(),
        SimulatedHardware.discrete().withoutPeers());
  }

  @Override
  protected boolean runs(Class<? extends Topic> topic) {
    return OF_SEVERAL_DEVICES.contains(topic);
  }
}
