package dev.tidepool.metal;

import dev.tidepool.Tidepool;
import dev.tidepool.testkit.AcceleratorConformance;
import dev.tidepool.testkit.conformance.Topic;
import java.util.Map;
import org.junit.jupiter.api.Nested;

/**
 * What every accelerator promises, over memory that is shared with the host and private one. All of
 * it over one device; the others leave out what they cannot change.
 */
class ConformanceTest {
  abstract static class MetalConformance extends AcceleratorConformance {
    private final int devices;
    private final boolean unified;
    private final String storage;
    private final Map<ObjectKind, Long> before = Simulation.liveObjects();
    private boolean opened;

    MetalConformance(int devices, boolean unified, String storage) {
      this.devices = devices;
      this.unified = unified;
      this.storage = storage;
    }

    @Override
    protected String accelerator() {
      return "metal:" + (devices - 1);
    }

    @Override
    protected Tidepool open() {
      // The suite opens a second one while the first is open.
      if (!opened) {
        opened = true;
        Simulation.with(devices).setAll("unified", unified ? 1 : 0);
      }
      return Simulation.open(new MetalProvider(), storage);
    }

    @Override
    protected void verifyAfterAll() {
      Simulation.assertCleanBut(before);
    }
  }

  @Nested
  class OneDevice extends MetalConformance {
    OneDevice() {
      super(1, true, "auto");
    }
  }

  @Nested
  class OneOfTwoDevices extends MetalConformance {
    OneOfTwoDevices() {
      super(2, true, "shared");
    }

    @Override
    protected boolean runs(Class<? extends Topic> topic) {
      return OF_SEVERAL_DEVICES.contains(topic);
    }
  }

  @Nested
  class PrivateMemory extends MetalConformance {
    PrivateMemory() {
      super(1, true, "private");
    }

    @Override
    protected boolean runs(Class<? extends Topic> topic) {
      return !OF_ANY_MEMORY.contains(topic);
    }
  }

  /** Cards with memory of their own. */
  @Nested
  class OneOfTwoCards extends MetalConformance {
    OneOfTwoCards() {
      super(2, false, "auto");
    }

    @Override
    protected boolean runs(Class<? extends Topic> topic) {
      return OF_SEVERAL_DEVICES.contains(topic);
    }
  }
}
