package dev.tidepool.metal;

import dev.tidepool.Tidepool;
import dev.tidepool.testkit.conformance.VanishedMemory;
import java.io.IOException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

/** Metal does not meet the bytes of a file that is truncated. */
@EnabledOnOs(OS.LINUX)
class VanishedMemoryTest {
  @Test
  void aTruncatedFileIsAnExceptionAndNotTheEnd() throws Exception {
    Simulation.with(1);
    VanishedMemory.inItsOwnProcess(Sweep.class);
  }

  static final class Sweep {
    public static void main(String[] arguments) throws IOException {
      Simulation.with(1);
      try (Tidepool tidepool = Simulation.open(new MetalProvider(), "private")) {
        VanishedMemory.sweep(tidepool, "metal:0", 10);
      }
    }
  }
}
