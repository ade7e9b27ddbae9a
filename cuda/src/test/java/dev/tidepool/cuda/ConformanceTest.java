package dev.tidepool.cuda;

import dev.tidepool.Tidepool;
import dev.tidepool.testkit.AcceleratorConformance;
import dev.tidepool.testkit.conformance.Topic;
import dev.tidepool.testkit.cuda.SimulatedCuda;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Nested;

/**
 * What every accelerator promises, over each kind of device and way to use it. All of it over one
 * device; the others leave out what they cannot change.
 */
class ConformanceTest {
  abstract static class CudaConformance extends AcceleratorConformance {
    /** Topics in which it matters where the device's memory comes from. */
    static final Set<Class<? extends Topic>> DEVICE_MEMORY =
        Set.of(
            Accounting.class,
            AdoptedDeviceMemory.class,
            Allocation.class,
            BufferCopy.class,
            Coherence.class,
            Exchange.class,
            Lending.class,
            Lifetime.class,
            Reservations.class,
            SharedMemory.class,
            SuspensionAndReturn.class,
            Transfers.class);

    /** Topics in which it matters whether host and device may use the same memory. */
    static final Set<Class<? extends Topic>> MANAGED_MEMORY =
        Set.of(
            Accounting.class,
            Allocation.class,
            ArrayCopy.class,
            BufferCopy.class,
            Coherence.class,
            DirtyRange.class,
            Exchange.class,
            HandWrittenKernel.class,
            Kernel.class,
            Lending.class,
            Lifetime.class,
            Mapping.class,
            Order.class,
            OutlivedMemory.class,
            SegmentCopy.class,
            SharedMemory.class,
            SuspensionAndReturn.class,
            Transfers.class);

    /** Topics in which it matters how work is ordered. */
    static final Set<Class<? extends Topic>> ORDER =
        Set.of(
            AdoptedDeviceMemory.class,
            AdoptedMemory.class,
            BufferCopy.class,
            Coherence.class,
            Exchange.class,
            HandWrittenKernel.class,
            Kernel.class,
            Lending.class,
            Lifetime.class,
            Mapping.class,
            Order.class,
            OutlivedMemory.class,
            SegmentCopy.class,
            SuspensionAndReturn.class,
            Transfers.class);

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

    @Override
    protected boolean runs(Class<? extends Topic> topic) {
      return OF_SEVERAL_DEVICES.contains(topic);
    }
  }

  @Nested
  class WithoutMemoryPools extends CudaConformance {
    WithoutMemoryPools() {
      super(1, true, Map.of("tidepool.cuda.memory", "plain"));
    }

    @Override
    protected boolean runs(Class<? extends Topic> topic) {
      return DEVICE_MEMORY.contains(topic);
    }
  }

  @Nested
  class FromTheCurrentPool extends CudaConformance {
    FromTheCurrentPool() {
      super(1, true, Map.of("tidepool.cuda.memory", "current"));
    }

    @Override
    protected boolean runs(Class<? extends Topic> topic) {
      return DEVICE_MEMORY.contains(topic);
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
    protected boolean runs(Class<? extends Topic> topic) {
      return ORDER.contains(topic);
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

    @Override
    protected boolean runs(Class<? extends Topic> topic) {
      return DEVICE_MEMORY.contains(topic);
    }
  }

  @Nested
  class HostAndDeviceInTurn extends CudaConformance {
    HostAndDeviceInTurn() {
      super(1, false, Map.of());
    }

    @Override
    protected boolean runs(Class<? extends Topic> topic) {
      return MANAGED_MEMORY.contains(topic);
    }
  }

  @Nested
  class WithoutManagedMemory extends CudaConformance {
    WithoutManagedMemory() {
      super(1, true, Map.of("tidepool.cuda.managed", "none"));
    }

    @Override
    protected boolean runs(Class<? extends Topic> topic) {
      return MANAGED_MEMORY.contains(topic);
    }
  }
}
