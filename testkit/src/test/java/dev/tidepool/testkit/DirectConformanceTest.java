package dev.tidepool.testkit;

import dev.tidepool.testkit.simulated.SimulatedHardware;

class DirectConformanceTest extends SimulatedConformance {
  DirectConformanceTest() {
    super(SimulatedHardware.discrete().withHostAccess(dev.tidepool.spi.HostAccess.DIRECT));
  }
}
