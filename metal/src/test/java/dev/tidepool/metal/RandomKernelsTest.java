package dev.tidepool.metal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Tidepool;
import dev.tidepool.testkit.RandomKernels;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Random Java methods compute as kernels what they compute as methods. */
@Timeout(1000)
class RandomKernelsTest {
  @ParameterizedTest
  @ValueSource(strings = {"shared", "private"})
  void kernelsEqualTheirMethods(String storage) {
    // Java's subnormals are not flushed.
    Simulation.with(1).setAll("subnormals", 1);
    try (Tidepool tidepool = Simulation.open(new MetalProvider(), storage)) {
      assertThat(new RandomKernels(tidepool, "metal:0").kernels(75).inPrograms().run())
          .isPositive();
    }
  }

  @Test
  void kernelsWithBarriersEqualTheirMethods() {
    Simulation.with(1);
    try (Tidepool tidepool = Simulation.open(new MetalProvider(), "private")) {
      assertThat(new RandomKernels(tidepool, "metal:0").withBarriers(25).kernels(20).run())
          .isPositive();
    }
  }
}
