package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Tidepool;
import dev.tidepool.spi.Discovery;
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
      assertThat(new RandomKernels(tidepool, "cpu:0").kernels(19_250).run()).isPositive();
    }
  }

  @Test
  void kernelsWithBarriersEqualTheirMethods() {
    try (Tidepool tidepool = Discovery.using(List.of(), Tidepool::open)) {
      assertThat(new RandomKernels(tidepool, "cpu:0").withBarriers(25).kernels(300).run())
          .isPositive();
    }
  }
}
