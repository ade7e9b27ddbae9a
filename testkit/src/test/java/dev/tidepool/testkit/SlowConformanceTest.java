package dev.tidepool.testkit;

import dev.tidepool.testkit.simulated.SimulatedHardware;

class SlowConformanceTest extends SimulatedConformance {
  SlowConformanceTest() {
    super(
        SimulatedHardware.discrete()
            .withPinned(0)
            .withLatency(java.time.Duration.ofNanos(50_000))
            .withBandwidth(4L << 30));
  }
}
