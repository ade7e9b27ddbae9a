package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Tidepool;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Random Java methods compute as kernels what they compute as methods. */
@ExtendWith(QuietLog.class) // each kernel is a likely race
@Timeout(1000)
class RandomKernelsTest {
  @Test
  void kernelsEqualTheirMethods() {
    try (Tidepool tidepool = Discovery.using(List.of(), Tidepool::open)) {
      assertThat(new RandomKernels(tidepool, "cpu:0").kernels(18_500).run()).isPositive();
    }
  }

  /** The contents of arrays that are not brought to the device are lost only there. */
  @Test
  void kernelsOnADeviceWithItsOwnMemoryEqualTheirMethods() {
    SimulatedProvider provider = new SimulatedProvider(SimulatedHardware.discrete());
    try (Tidepool tidepool = Discovery.using(List.of(provider), Tidepool::open)) {
      assertThat(new RandomKernels(tidepool, "simulated:0").kernels(750).run()).isPositive();
    }
    assertThat(provider.violations()).isEmpty();
  }

  @Test
  void kernelsWithBarriersEqualTheirMethods() {
    try (Tidepool tidepool = Discovery.using(List.of(), Tidepool::open)) {
      assertThat(new RandomKernels(tidepool, "cpu:0").withBarriers(25).kernels(300).run())
          .isPositive();
    }
  }
}
