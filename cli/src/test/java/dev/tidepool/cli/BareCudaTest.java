package dev.tidepool.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.testkit.cuda.SimulatedCuda;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** The driver without the library, which the library's bandwidths stand beside. */
class BareCudaTest {
  private static <T> T withDriver(SimulatedCuda simulated, Supplier<T> action) {
    String property = "tidepool.cuda.library";
    String before = System.getProperty(property);
    System.setProperty(property, simulated.driver().toString());
    try {
      return action.get();
    } finally {
      if (before == null) {
        System.clearProperty(property);
      } else {
        System.setProperty(property, before);
      }
    }
  }

  @Test
  void movements_are_commands_and_one_wait() {
    SimulatedCuda simulated = SimulatedCuda.orSkip();
    simulated.reset(2);
    try (BareCuda bare =
        withDriver(simulated, () -> BareCuda.open("cuda:1", 1 << 20)).orElseThrow()) {
      bare.hostToDevice(1000, 3);
      bare.deviceToHost(1 << 20, 1);
      bare.deviceToDevice(1 << 20, 1);
      bare.fill(10);
      assertThat(simulated.calls("cuMemcpyHtoDAsync_v2")).isEqualTo(3);
      assertThat(simulated.calls("cuStreamSynchronize")).isEqualTo(4);
      bare.allocateInOrder(1 << 20);
      bare.allocatePlainly(1 << 20);
      assertThat(simulated.calls("cuMemAllocAsync")).isOne();
      assertThat(simulated.notes()).isEmpty();
    }
    assertThat(simulated.violations()).isEmpty();
    assertThat(simulated.leaks()).isEmpty();
  }

  @Test
  void what_is_not_there_or_has_no_room_is_none() {
    SimulatedCuda simulated = SimulatedCuda.orSkip();
    simulated.reset(1);
    assertThat(withDriver(simulated, () -> BareCuda.open("cuda:7", 64))).isEmpty();
    assertThat(withDriver(simulated, () -> BareCuda.open("cuda:0", 1L << 40))).isEmpty();
    assertThat(BareCuda.open("opencl:0", 64)).isEmpty();
    assertThat(simulated.violations()).isEmpty();
    assertThat(simulated.leaks()).isEmpty();
  }
}
