package dev.tidepool.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.tidepool.AcceleratorKind;
import dev.tidepool.Tidepool;
import dev.tidepool.spi.AcceleratorProvider;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.DeviceInfo;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.apache.spark.SparkConf;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

@DisplayName("The device of a task")
class DeviceChoiceTest {
  private static String chosen(Tidepool tidepool, String accelerator, String address) {
    Settings settings =
        Settings.of(new SparkConf(false).set("spark.tidepool.accelerator", accelerator));
    return DeviceChoice.choose(tidepool, settings, Optional.ofNullable(address)).id();
  }

  private static Tidepool twoDevices() {
    SimulatedProvider simulated =
        new SimulatedProvider(SimulatedHardware.discrete(), SimulatedHardware.discrete());
    return Discovery.using(List.of(simulated), Tidepool::open);
  }

  /** Devices of which the first are the processor, as those of PoCL. */
  private static Tidepool processors(int processors, int devices) {
    SimulatedProvider simulated =
        new SimulatedProvider(
            Collections.nCopies(devices, SimulatedHardware.discrete())
                .toArray(SimulatedHardware[]::new));
    AcceleratorProvider provider =
        new AcceleratorProvider() {
          @Override
          public String name() {
            return simulated.name();
          }

          @Override
          public Discovery discover() {
            List<Device> found = new ArrayList<>(simulated.discover().devices());
            found.subList(0, processors).replaceAll(DeviceChoiceTest::processor);
            return new Discovery(found, List.of());
          }
        };
    return Discovery.using(List.of(provider), Tidepool::open);
  }

  private static Device processor(Device device) {
    DeviceInfo info = device.info();
    DeviceInfo changed =
        new DeviceInfo(
            info.id(),
            info.name(),
            info.driver(),
            AcceleratorKind.CPU,
            info.capabilities(),
            info.maximumAllocation());
    return (Device)
        Proxy.newProxyInstance(
            Device.class.getClassLoader(),
            new Class<?>[] {Device.class},
            (_, method, arguments) ->
                method.getName().equals("info") ? changed : method.invoke(device, arguments));
  }

  @Test
  @DisplayName("is the one of its address")
  void byAddress() {
    try (Tidepool tidepool = twoDevices()) {
      assertThat(chosen(tidepool, "auto", "1")).isEqualTo("simulated:1");
      assertThat(chosen(tidepool, "simulated", "0")).isEqualTo("simulated:0");
      assertThat(chosen(tidepool, "auto", "simulated:1")).isEqualTo("simulated:1");
    }
  }

  @Test
  @DisplayName("is the one of the settings where Spark assigns none")
  void bySetting() {
    try (Tidepool tidepool = twoDevices()) {
      assertThat(chosen(tidepool, "auto", null)).isEqualTo("simulated:0");
      assertThat(chosen(tidepool, "simulated:1", null)).isEqualTo("simulated:1");
      assertThat(chosen(tidepool, "cpu", null)).isEqualTo("cpu:0");
      assertThatIllegalStateException()
          .isThrownBy(() -> chosen(tidepool, "cuda", null))
          .withMessageContaining("spark.tidepool.accelerator is cuda")
          .withMessageContaining("simulated:0");
    }
  }

  @Test
  @DisplayName("is never the processor in place of a device that was promised")
  void absent() {
    try (Tidepool tidepool = twoDevices()) {
      assertThatIllegalStateException()
          .isThrownBy(() -> chosen(tidepool, "auto", "2"))
          .withMessageContaining("gpu address 2")
          .withMessageContaining("looked for simulated:2 among devices other than the processor")
          .withMessageContaining("simulated:0")
          .withMessageContaining("cpu:0");
    }
    try (Tidepool tidepool = Discovery.using(List.of(), Tidepool::open)) {
      assertThatIllegalStateException()
          .isThrownBy(() -> chosen(tidepool, "auto", "0"))
          .withMessageContaining("looked for a device other than the processor");
    }
  }

  @Test
  @DisplayName("is the processor under a driver such as PoCL only if that is named")
  void processorUnderDriver() {
    try (Tidepool tidepool = processors(1, 1)) {
      assertThatIllegalStateException()
          .isThrownBy(() -> chosen(tidepool, "auto", "0"))
          .withMessageContaining("looked for a device other than the processor")
          .withMessageContaining("simulated:0 (Simulated discrete; the processor)");
      assertThat(chosen(tidepool, "simulated", "0")).isEqualTo("simulated:0");
      assertThat(chosen(tidepool, "auto", "simulated:0")).isEqualTo("simulated:0");
    }
  }

  @Test
  @DisplayName("is not a processor beside devices of one kind")
  void processorBesideDevice() {
    try (Tidepool tidepool = processors(1, 2)) {
      assertThat(chosen(tidepool, "auto", "1")).isEqualTo("simulated:1");
      assertThatIllegalStateException()
          .isThrownBy(() -> chosen(tidepool, "auto", "0"))
          .withMessageContaining("looked for simulated:0 among devices other than the processor");
    }
  }
}
