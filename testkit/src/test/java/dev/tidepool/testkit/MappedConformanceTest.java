package dev.tidepool.testkit;

import dev.tidepool.testkit.conformance.Topic;
import dev.tidepool.testkit.simulated.SimulatedHardware;

class MappedConformanceTest extends SimulatedConformance {
  MappedConformanceTest() {
    super(SimulatedHardware.discrete().withHostAccess(dev.tidepool.spi.HostAccess.MAPPED));
  }

  @Override
  protected boolean runs(Class<? extends Topic> topic) {
    return !OF_ANY_MEMORY.contains(topic);
  }
}
