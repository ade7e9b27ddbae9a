package dev.tidepool.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Tidepool;
import dev.tidepool.testkit.RandomKernels;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Random Java methods compute as kernels what they compute as methods. */
@Timeout(1000)
class RandomKernelsTest {
  @Test
  void kernelsEqualTheirMethods() {
    Simulation.with(1);
    try (Tidepool tidepool = Simulation.open(new CudaProvider())) {
      assertThat(new RandomKernels(tidepool, "cuda:0").kernels(175).inPrograms().run())
          .isPositive();
    }
  }

  /** One program for each, as in programs of many the range of items is not tested in front. */
  @Test
  void kernelsInProgramsOfTheirOwnEqualTheirMethods() {
    Simulation.with(1);
    try (Tidepool tidepool = Simulation.open(new CudaProvider())) {
      assertThat(new RandomKernels(tidepool, "cuda:0").kernels(25).run()).isEqualTo(25);
    }
  }

  @Test
  void kernelsWithBarriersEqualTheirMethods() {
    Simulation.with(1);
    try (Tidepool tidepool = Simulation.open(new CudaProvider())) {
      assertThat(new RandomKernels(tidepool, "cuda:0").withBarriers(25).kernels(20).run())
          .isPositive();
    }
  }
}
