package dev.tidepool.opencl;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RegisteredDriversTest {
  @TempDir Path vendors;
  @TempDir Path devices;

  @BeforeEach
  void pocl() throws IOException {
    Files.writeString(vendors.resolve("pocl.icd"), "libpocl.so.2.9.0\n");
  }

  @Test
  void pocl_alone_is_for_the_cpu() {
    assertThat(onlyTheCpu(Map.of())).isTrue();
  }

  @Test
  void another_driver_may_be_for_more() throws IOException {
    Files.writeString(vendors.resolve("nvidia.icd"), "libnvidia-opencl.so.1\n");
    assertThat(onlyTheCpu(Map.of())).isFalse();
  }

  @ParameterizedTest
  @ValueSource(strings = {"dri", "nvidiactl", "kfd", "dxg"})
  void a_machine_that_shows_a_graphics_processor_is_looked_into(String node) throws IOException {
    Files.createFile(devices.resolve(node));
    assertThat(onlyTheCpu(Map.of())).isFalse();
  }

  @ParameterizedTest
  @ValueSource(strings = {"OCL_ICD_VENDORS", "OCL_ICD_FILENAMES", "POCL_DEVICES"})
  void settings_that_bring_in_others_are_respected(String variable) {
    assertThat(onlyTheCpu(Map.of(variable, "something"))).isFalse();
  }

  @Test
  void without_registered_drivers_nothing_is_certain() throws IOException {
    Files.delete(vendors.resolve("pocl.icd"));
    assertThat(onlyTheCpu(Map.of())).isFalse();
    Files.delete(vendors);
    assertThat(onlyTheCpu(Map.of())).isFalse();
    Files.createDirectory(vendors);
  }

  private boolean onlyTheCpu(Map<String, String> environment) {
    return new RegisteredDrivers(vendors, devices, environment::get).areForTheCpu();
  }
}
