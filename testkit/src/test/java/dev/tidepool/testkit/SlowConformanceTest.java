package dev.tidepool.testkit;

import dev.tidepool.testkit.conformance.Topic;
import dev.tidepool.testkit.simulated.SimulatedHardware;

class SlowConformanceTest extends SimulatedConformance {
  SlowConformanceTest() {
    super(
        SimulatedHardware.discrete()
            .withPinned(0)
            .withLatency(java.time.Duration.ofNanos(50_000))
            .withBandwidth(4L << 30));
  }

  @Override
  protected boolean runs(Class<? extends Topic> topic) {
    return !OF_ANY_MEMORY.contains(topic);
  }
}
