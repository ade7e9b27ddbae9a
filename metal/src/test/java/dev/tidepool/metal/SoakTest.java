package dev.tidepool.metal;

import dev.tidepool.testkit.AcceleratorSoak;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Nested;

/** A soak of one device and of two, over memory that is shared with the host and private one. */
class SoakTest {
  private static final long SMALLEST = 2L << 20;

  abstract static class MetalSoak extends AcceleratorSoak {
    private final String storage;
    private final Map<ObjectKind, Long> before = Simulation.liveObjects();

    MetalSoak(String storage) {
      this.storage = storage;
    }

    @Override
    protected Machine machine(SplittableRandom random) {
      int devices = 1 + random.nextInt(2);
      Simulation.with(devices).setAll("working_set", SMALLEST << random.nextInt(3));
      return new Machine(
          Simulation.provider(storage), "metal:" + random.nextInt(devices), storage + " memory");
    }

    @Override
    protected void verifyAfterRound() {
      Simulation.assertCleanBut(before);
    }
  }

  @Nested
  class SharedMemory extends MetalSoak {
    SharedMemory() {
      super("shared");
    }
  }

  @Nested
  class PrivateMemory extends MetalSoak {
    PrivateMemory() {
      super("private");
    }
  }
}
