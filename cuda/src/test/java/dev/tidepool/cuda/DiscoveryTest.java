package dev.tidepool.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Accelerator;
import dev.tidepool.AcceleratorKind;
import dev.tidepool.Capability;
import dev.tidepool.MemoryInfo;
import dev.tidepool.Tidepool;
import dev.tidepool.spi.AcceleratorProvider;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.DeviceInfo;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.cuda.SimulatedCuda;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** What is found, how it is called, and what is said about what is not. */
@ExtendWith(NothingLeaks.class)
class DiscoveryTest {
  private static Discovery discover() {
    Discovery found = new CudaProvider().discover();
    found.devices().forEach(Device::close);
    return found;
  }

  private static void takenByAnother(SimulatedCuda simulated, int device) {
    // CU_COMPUTEMODE_EXCLUSIVE_PROCESS
    simulated.set(device, "attribute." + Cuda.CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, 3);
    simulated.set(device, "taken", 1);
  }

  @Test
  void theServiceLoaderFindsTheProvider() {
    assertThat(ServiceLoader.load(AcceleratorProvider.class))
        .filteredOn(CudaProvider.class::isInstance)
        .singleElement()
        .extracting(AcceleratorProvider::name)
        .isEqualTo("cuda");
  }

  @Test
  void devicesAreNumberedFromZeroInTheDriversOrder() {
    Simulation.with(3);
    Discovery found = discover();
    assertThat(found.devices())
        .extracting(device -> device.info().id())
        .containsExactly("cuda:0", "cuda:1", "cuda:2");
    assertThat(found.notes()).isEmpty();
  }

  @Test
  void aDeviceTellsWhatItIs() {
    SimulatedCuda simulated = Simulation.with(1);
    simulated.set(0, "memory", 3L << 30);
    simulated.set(0, "compute_capability", 86);
    simulated.set(0, "driver_version", 12040);
    DeviceInfo info = discover().devices().getFirst().info();
    assertThat(info.name()).isNotBlank();
    assertThat(info.driver()).isEqualTo("CUDA 12.4, compute capability 8.6");
    assertThat(info.kind()).isEqualTo(AcceleratorKind.GPU);
    assertThat(info.maximumAllocation()).isEqualTo(3L << 30);
    assertThat(info.capabilities())
        .containsExactlyInAnyOrder(
            Capability.PINNED_MEMORY,
            Capability.UNIFIED_MEMORY,
            Capability.FLOAT64,
            Capability.FLOAT_SUBNORMALS,
            Capability.CUDA_KERNELS);
  }

  @Test
  void freeMemoryIsTheDriversWord() {
    try (Device device = Simulation.device()) {
      MemoryInfo before = device.memory();
      assertThat(before.freeIsEstimate()).isFalse();
      assertThat(before.totalBytes()).isEqualTo(1L << 30);
      var block = device.allocate(64 << 20, 256, dev.tidepool.spi.BlockKind.DEVICE);
      assertThat(device.memory().freeBytes()).isLessThanOrEqualTo(before.freeBytes() - (64 << 20));
      block.free();
      assertThat(device.memory().freeBytes()).isEqualTo(before.freeBytes());
    }
  }

  @Test
  void eachDiscoveryOpensDevicesOfItsOwn() {
    Simulation.with(1);
    List<Device> first = Simulation.devices();
    List<Device> second = Simulation.devices();
    first.forEach(Device::close);
    try (var queue = second.getFirst().createQueue()) {
      queue.finish();
    }
    second.forEach(Device::close);
    second.forEach(Device::close);
  }

  @Test
  void noDeviceIsANote() {
    Simulation.with(0);
    Discovery found = discover();
    assertThat(found.devices()).isEmpty();
    assertThat(found.notes()).singleElement().asString().contains("the CUDA driver has no device");
  }

  @Test
  void aDriverThatIsTooOldIsANoteWithBothVersions() {
    Simulation.with(1).set(0, "driver_version", 11030);
    Discovery found = discover();
    assertThat(found.devices()).isEmpty();
    assertThat(found.notes())
        .singleElement()
        .asString()
        .contains("CUDA 11.3", "11.4 or newer", "update the driver");
  }

  @Test
  void aDriverThatCannotStartIsANoteWithItsCode() {
    Simulation.with(1).fail("cuInit", 1, ErrorCodes.CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
    Discovery found = discover();
    assertThat(found.devices()).isEmpty();
    assertThat(found.notes())
        .singleElement()
        .asString()
        .contains("CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "reboot");
  }

  @Test
  void aDeviceThatAnotherProcessHasForItselfIsLeftOutAndTheOthersWork() {
    SimulatedCuda simulated = Simulation.with(3);
    takenByAnother(simulated, 1);
    Discovery found = discover();
    assertThat(found.devices())
        .extracting(device -> device.info().id())
        .containsExactly("cuda:0", "cuda:1");
    assertThat(found.notes())
        .singleElement()
        .asString()
        .contains("cannot be opened", "CUDA_ERROR_DEVICE_UNAVAILABLE", "compute mode");
  }

  @Test
  void aDeviceWhoseUseIsProhibitedIsLeftOut() {
    SimulatedCuda simulated = Simulation.with(2);
    simulated.set(0, "attribute." + Cuda.CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, 2);
    Discovery found = discover();
    assertThat(found.devices()).hasSize(1);
    assertThat(found.notes()).singleElement().asString().contains("prohibits", "nvidia-smi");
  }

  @Test
  void aDeviceThatIsLostAlreadyIsLeftOut() {
    Simulation.with(2).set(0, "lost", ErrorCodes.CUDA_ERROR_ECC_UNCORRECTABLE);
    Discovery found = discover();
    assertThat(found.devices()).hasSize(1);
    assertThat(found.notes()).singleElement().asString().contains("CUDA_ERROR_ECC_UNCORRECTABLE");
  }

  @Test
  void anAcceleratorThatFailsDoesNotKeepTheOthersFromWorking() {
    takenByAnother(Simulation.with(1), 0);
    try (Tidepool tidepool = Simulation.open(new CudaProvider())) {
      assertThat(tidepool.accelerators())
          .singleElement()
          .extracting(accelerator -> accelerator.id())
          .isEqualTo("cpu:0");
      assertThat(tidepool.notes()).anyMatch(note -> note.contains("CUDA_ERROR_DEVICE_UNAVAILABLE"));
    }
  }

  @Test
  void aGraphicsProcessorIsBetterThanAnotherAcceleratorWhicheverIsFoundFirst() {
    Simulation.with(2);
    var other = new SimulatedProvider(SimulatedHardware.discrete());
    try (Tidepool tidepool = Discovery.using(List.of(other, new CudaProvider()), Tidepool::open)) {
      assertThat(tidepool.accelerators())
          .extracting(Accelerator::id)
          .containsExactly("cuda:0", "cuda:1", other.devices().getFirst().info().id(), "cpu:0");
    }
  }

  @Test
  void aSettingThatIsNoneOfThoseAllowedIsNotedAndLeftAside() {
    Simulation.with(1);
    Discovery found =
        Simulation.under(
            Map.of("tidepool.cuda.managed", "much", "tidepool.cuda.releaseThreshold", "lots"),
            DiscoveryTest::discover);
    assertThat(found.notes())
        .hasSize(2)
        .anyMatch(note -> note.contains("tidepool.cuda.managed=much is ignored"))
        .anyMatch(note -> note.contains("tidepool.cuda.releaseThreshold=lots is ignored"));
    assertThat(found.devices().getFirst().info().can(Capability.UNIFIED_MEMORY)).isTrue();
  }
}
