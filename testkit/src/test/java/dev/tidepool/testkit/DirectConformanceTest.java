package dev.tidepool.testkit;

import dev.tidepool.testkit.conformance.Topic;
import dev.tidepool.testkit.simulated.SimulatedHardware;

class DirectConformanceTest extends SimulatedConformance {
  DirectConformanceTest() {
    super(SimulatedHardware.discrete().withHostAccess(dev.tidepool.spi.HostAccess.DIRECT));
  }

  @Override
  protected boolean runs(Class<? extends Topic> topic) {
    return !OF_ANY_MEMORY.contains(topic);
  }
}
