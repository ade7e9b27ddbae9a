package dev.tidepool.opencl;

import dev.tidepool.Tidepool;
import dev.tidepool.spi.Device;
import dev.tidepool.testkit.conformance.VanishedMemory;
import java.io.IOException;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** No driver meets the bytes of a file that is truncated. */
@EnabledOnOs(OS.LINUX)
class VanishedMemoryTest {
  @ParameterizedTest
  @EnumSource(
      value = MemoryMode.class,
      names = {"FINE_SHARED_POINTERS", "DISCRETE"})
  void aTruncatedFileIsAnExceptionAndNotTheEnd(MemoryMode mode) throws Exception {
    Pocl.devices().forEach(Device::close);
    VanishedMemory.inItsOwnProcess(Sweep.class, mode.name());
  }

  static final class Sweep {
    public static void main(String[] arguments) throws IOException {
      try (Tidepool tidepool = OpenClConformance.open(MemoryMode.valueOf(arguments[0]))) {
        VanishedMemory.sweep(tidepool, "opencl:0", 10);
      }
    }
  }
}
