package dev.tidepool.metal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Tidepool;
import dev.tidepool.testkit.RandomKernels;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Random Java methods compute as kernels what they compute as methods. */
@Timeout(value = 1000, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RandomKernelsTest {
  @Test
  void kernelsEqualTheirMethods() {
    // Java's subnormals are not flushed.
    Simulation.with(1).setAll("subnormals", 1);
    try (Tidepool tidepool = Simulation.open(new MetalProvider())) {
      assertThat(new RandomKernels(tidepool, "metal:0").kernels(250).inPrograms().run())
          .isPositive();
    }
  }
}
