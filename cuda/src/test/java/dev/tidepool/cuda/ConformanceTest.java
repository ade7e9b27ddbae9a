package dev.tidepool.cuda;

import dev.tidepool.Tidepool;
import dev.tidepool.testkit.AcceleratorConformance;
import dev.tidepool.testkit.cuda.SimulatedCuda;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Nested;

/** What every accelerator promises, over each kind of device and way to use it. */
class ConformanceTest {
  abstract static class CudaConformance extends AcceleratorConformance {
    private final int devices;
    private final boolean concurrentAccess;
    private final Map<String, String> settings;
    private final Map<ObjectKind, Long> before = Simulation.liveObjects();
    private boolean opened;

    CudaConformance(int devices, boolean concurrentAccess, Map<String, String> settings) {
      this.devices = devices;
      this.concurrentAccess = concurrentAccess;
      this.settings = settings;
    }

    @Override
    protected String accelerator() {
      return "cuda:" + (devices - 1);
    }

    @Override
    protected Tidepool open() {
      // The suite opens a second one while the first is open.
      if (!opened) {
        opened = true;
        SimulatedCuda simulated = Simulation.with(devices);
        simulated.setAll(
            "attribute." + Simulation.CONCURRENT_MANAGED_ACCESS, concurrentAccess ? 1 : 0);
      }
      return Simulation.under(settings(), () -> Simulation.open(new CudaProvider()));
    }

    /** What is set when a Tidepool is opened. */
    Map<String, String> settings() {
      return settings;
    }

    @Override
    protected void verifyAfterAll() {
      // Some transfers ask for plain memory.
      Simulation.assertCleanBut(before, false);
    }
  }

  @Nested
  class OneDevice extends CudaConformance {
    OneDevice() {
      super(1, true, Map.of());
    }
  }

  @Nested
  class OneOfThreeDevices extends CudaConformance {
    OneOfThreeDevices() {
      super(3, true, Map.of());
    }
  }

  @Nested
  class WithoutMemoryPools extends CudaConformance {
    WithoutMemoryPools() {
      super(1, true, Map.of("tidepool.cuda.memory", "plain"));
    }
  }

  @Nested
  class FromTheCurrentPool extends CudaConformance {
    FromTheCurrentPool() {
      super(1, true, Map.of("tidepool.cuda.memory", "current"));
    }
  }

  /** One stream of another library for all queues. */
  @Nested
  class OnOneStream extends CudaConformance {
    private @Nullable Library library;

    OnOneStream() {
      super(1, true, Map.of());
    }

    @Override
    Map<String, String> settings() {
      if (library == null) {
        library = Library.on(0);
      }
      return library.settings();
    }

    @Override
    protected void verifyAfterAll() {
      if (library != null) {
        library.close();
      }
      super.verifyAfterAll();
    }
  }

  @Nested
  class MappedPieceByPiece extends CudaConformance {
    MappedPieceByPiece() {
      super(2, true, Map.of("tidepool.cuda.vmm", "always"));
    }
  }

  @Nested
  class HostAndDeviceInTurn extends CudaConformance {
    HostAndDeviceInTurn() {
      super(1, false, Map.of());
    }
  }

  @Nested
  class WithoutManagedMemory extends CudaConformance {
    WithoutManagedMemory() {
      super(1, true, Map.of("tidepool.cuda.managed", "none"));
    }
  }
}
