package dev.tidepool.metal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.AcceleratorKind;
import dev.tidepool.Arguments;
import dev.tidepool.Capability;
import dev.tidepool.KernelSource;
import dev.tidepool.Tidepool;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.DeviceInfo;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.metal.SimulatedMetal;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Which devices are found, what they tell, and what is said where there is none. */
@ExtendWith(NothingLeaks.class)
class DiscoveryTest {
  private static Discovery discover() {
    return new MetalProvider().discover();
  }

  private static void close(List<Device> devices) {
    devices.forEach(Device::close);
  }

  @Test
  void everyDeviceIsFoundAndTheDefaultOneIsTheFirst() {
    Simulation.with(3);
    Discovery found = discover();
    assertThat(found.notes()).isEmpty();
    assertThat(found.devices())
        .extracting(device -> device.info().id())
        .containsExactly("metal:0", "metal:1", "metal:2");
    assertThat(found.devices().getFirst().info().name()).contains("0");
    close(found.devices());
  }

  @Test
  void aDeviceTellsWhatItIs() {
    SimulatedMetal simulated = Simulation.with(1);
    simulated.set(0, "max_buffer", 123 << 20);
    simulated.set(0, "working_set", 456 << 20);
    try (Device device = Simulation.devices().getFirst()) {
      DeviceInfo info = device.info();
      assertThat(info.driver()).startsWith("Metal, macOS ");
      assertThat(info.kind()).isEqualTo(AcceleratorKind.GPU);
      assertThat(info.maximumAllocation()).isEqualTo(123 << 20);
      assertThat(device.memory().totalBytes()).isEqualTo(456 << 20);
      assertThat(device.memory().freeIsEstimate()).isTrue();
      assertThat(info.capabilities())
          .containsExactlyInAnyOrder(
              Capability.SHARED_MEMORY, Capability.UNIFIED_MEMORY, Capability.METAL_KERNELS);
    }
  }

  @Test
  void aCardSharesNoMemoryWithTheHost() {
    Simulation.with(1).setAll("unified", 0);
    try (Device device = Simulation.devices().getFirst()) {
      assertThat(device.info().capabilities())
          .contains(Capability.PINNED_MEMORY)
          .doesNotContain(Capability.SHARED_MEMORY);
    }
  }

  @Test
  void storageIsWhereTheSettingSays() {
    Simulation.with(1);
    try (Device device = Simulation.privateDevices().getFirst()) {
      assertThat(device.info().capabilities())
          .contains(Capability.PINNED_MEMORY)
          .doesNotContain(Capability.SHARED_MEMORY);
    }
  }

  @Test
  void aSettingThatMeansNothingIsNoted() {
    Simulation.with(1);
    Discovery found =
        Simulation.under(Map.of(Simulation.STORAGE, "managed"), DiscoveryTest::discover);
    assertThat(found.notes())
        .singleElement()
        .asString()
        .contains("tidepool.metal.storage=managed is ignored")
        .contains("auto, shared, private");
    close(found.devices());
  }

  @Test
  void aSessionWithoutADeviceIsANoteAndTheProcessorComputes() {
    Simulation.with(1).setAll("headless", 1);
    try (Tidepool tidepool = Simulation.open(new MetalProvider())) {
      assertThat(tidepool.notes())
          .anySatisfy(note -> assertThat(note).contains("Metal has no device in this session"));
      assertTheProcessorComputes(tidepool);
    }
  }

  @Test
  void anOldSystemIsANoteAndTheProcessorComputes() {
    Simulation.with(1).setAll("os_major", 12);
    try (Tidepool tidepool = Simulation.open(new MetalProvider())) {
      assertThat(tidepool.notes())
          .singleElement()
          .asString()
          .contains("Metal is too old")
          .contains("macOS 13 or newer is needed");
      assertTheProcessorComputes(tidepool);
    }
  }

  private static void assertTheProcessorComputes(Tidepool tidepool) {
    assertThat(tidepool.accelerators()).extracting("id").containsExactly("cpu:0");
    float[] y = new float[3];
    tidepool
        .memory()
        .compile(KernelSource.elementwise("y = 2*x"))
        .execute(Arguments.of("x", new float[] {1, 2, 7}, "y", y));
    assertThat(y).containsExactly(2, 4, 14);
  }

  @ParameterizedTest
  @ValueSource(ints = {13, 15})
  void fastMathIsOff(int system) {
    SimulatedMetal simulated = Simulation.with(1);
    simulated.setAll("os_major", system);
    try (Tidepool tidepool = Simulation.open(new MetalProvider())) {
      float[] x = {1, 2, 3, 5, 7, 11};
      float[] y = new float[x.length];
      tidepool
          .memory(tidepool.accelerator("metal:0"))
          .compile(KernelSource.elementwise("y = sqrt(x) / 3"))
          .execute(Arguments.of("x", x, "y", y));
      for (int i = 0; i < x.length; i++) {
        assertThat(y[i]).isEqualTo((float) Math.sqrt(x[i]) / 3);
      }
    }
    boolean newer = system >= 15;
    assertThat(simulated.calls("setFastMathEnabled:")).isEqualTo(newer ? 0 : 1);
    assertThat(simulated.calls("setMathMode:")).isEqualTo(newer ? 1 : 0);
    assertThat(simulated.calls("setMathFloatingPointFunctions:")).isEqualTo(newer ? 1 : 0);
  }
}
