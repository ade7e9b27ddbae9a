package dev.tidepool.testkit;

import dev.tidepool.testkit.simulated.SimulatedHardware;

class MappedConformanceTest extends SimulatedConformance {
  MappedConformanceTest() {
    super(SimulatedHardware.discrete().withHostAccess(dev.tidepool.spi.HostAccess.MAPPED));
  }
}
