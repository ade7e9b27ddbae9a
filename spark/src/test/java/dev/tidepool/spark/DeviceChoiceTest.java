package dev.tidepool.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.tidepool.Tidepool;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
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
          .withMessageContaining("looked for simulated:2")
          .withMessageContaining("simulated:0")
          .withMessageContaining("cpu:0");
    }
    try (Tidepool tidepool = Discovery.using(List.of(), Tidepool::open)) {
      assertThatIllegalStateException()
          .isThrownBy(() -> chosen(tidepool, "auto", "0"))
          .withMessageContaining("any device beside the processor");
    }
  }
}
