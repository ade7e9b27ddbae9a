package dev.tidepool.testkit;

import dev.tidepool.spi.HostAccess;
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
  }

  @Nested
  class Mapped extends SimulatedConformance {
    Mapped() {
      super(UNPINNED.withHostAccess(HostAccess.MAPPED));
    }
  }
}
