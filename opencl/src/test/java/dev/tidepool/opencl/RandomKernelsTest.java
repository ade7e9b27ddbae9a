package dev.tidepool.opencl;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Tidepool;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.RandomKernels;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Random Java methods compute as kernels what they compute as methods. */
@Timeout(1000)
class RandomKernelsTest {
  @Test
  void kernelsEqualTheirMethods() {
    Pocl.devices().forEach(Device::close);
    try (Tidepool tidepool = Discovery.using(List.of(new OpenClProvider()), Tidepool::open)) {
      assertThat(new RandomKernels(tidepool, "opencl:0").kernels(100).inPrograms().run())
          .isPositive();
    }
  }

  /** One program for each, as in programs of many the range of items is not tested in front. */
  @Test
  void kernelsInProgramsOfTheirOwnEqualTheirMethods() {
    Pocl.devices().forEach(Device::close);
    try (Tidepool tidepool = Discovery.using(List.of(new OpenClProvider()), Tidepool::open)) {
      assertThat(new RandomKernels(tidepool, "opencl:0").kernels(25).run()).isEqualTo(25);
    }
  }

  @Test
  void kernelsWithBarriersEqualTheirMethods() {
    Pocl.devices().forEach(Device::close);
    try (Tidepool tidepool = Discovery.using(List.of(new OpenClProvider()), Tidepool::open)) {
      // Always the same: of 4,000 others PoCL 3.1 computes all right, but there may be rarer ones.
      assertThat(
              new RandomKernels(tidepool, "opencl:0").seed(5000).kernels(30).withBarriers(60).run())
          .isPositive();
    }
  }
}
