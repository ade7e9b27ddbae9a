package dev.tidepool.testkit;

import dev.tidepool.spi.HostAccess;
import dev.tidepool.testkit.conformance.Topic;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import org.junit.jupiter.api.Nested;

/** Devices that share the host's memory and can lock none of it. */
class UnpinnedConformanceTest {
  private static final SimulatedHardware UNPINNED = SimulatedHardware.discrete().withPinned(0);

  @Nested
  class Direct extends SimulatedConformance {
    Direct() {
      super(UNPINNED.withHostAccess(HostAccess.DIRECT));
    }

    @Override
    protected boolean runs(Class<? extends Topic> topic) {
      return !OF_ANY_MEMORY.contains(topic);
    }
  }

  @Nested
  class Mapped extends SimulatedConformance {
    Mapped() {
      super(UNPINNED.withHostAccess(HostAccess.MAPPED));
    }

    @Override
    protected boolean runs(Class<? extends Topic> topic) {
      return !OF_ANY_MEMORY.contains(topic);
    }
  }
}
