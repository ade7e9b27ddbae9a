package dev.tidepool.testkit;

import dev.tidepool.spi.HostAccess;
import dev.tidepool.testkit.conformance.Topic;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import java.util.Set;
import org.junit.jupiter.api.Nested;

/** Devices that share the host's memory and can lock none of it. */
class UnpinnedConformanceTest {
  private static final SimulatedHardware UNPINNED = SimulatedHardware.discrete().withPinned(0);

  /** Topics in which it matters whether memory of the host can be locked. */
  private static final Set<Class<? extends Topic>> LOCKED =
      Set.of(
          AcceleratorConformance.Accounting.class,
          AcceleratorConformance.AdoptedMemory.class,
          AcceleratorConformance.Allocation.class,
          AcceleratorConformance.ArrayCopy.class,
          AcceleratorConformance.Lifetime.class,
          AcceleratorConformance.Mapping.class,
          AcceleratorConformance.OutlivedMemory.class,
          AcceleratorConformance.SegmentCopy.class,
          AcceleratorConformance.SharedMemory.class,
          AcceleratorConformance.SuspensionAndReturn.class,
          AcceleratorConformance.Transfers.class);

  @Nested
  class Direct extends SimulatedConformance {
    Direct() {
      super(UNPINNED.withHostAccess(HostAccess.DIRECT));
    }

    @Override
    protected boolean runs(Class<? extends Topic> topic) {
      return LOCKED.contains(topic);
    }
  }

  @Nested
  class Mapped extends SimulatedConformance {
    Mapped() {
      super(UNPINNED.withHostAccess(HostAccess.MAPPED));
    }

    @Override
    protected boolean runs(Class<? extends Topic> topic) {
      return LOCKED.contains(topic);
    }
  }
}
