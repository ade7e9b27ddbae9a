package dev.tidepool.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

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
    try (BareCuda bare = withDriver(simulated, () -> BareCuda.open("cuda:1", 1 << 20))) {
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
  void what_is_not_there_or_has_no_room_is_named() {
    SimulatedCuda simulated = SimulatedCuda.orSkip();
    simulated.reset(1);
    assertRefused(simulated, "cuda:7", 64, "the driver opens 1 devices, not cuda:7");
    assertRefused(simulated, "cuda:0", 1L << 40, "cuMemAlloc_v2 answered 2");
    assertRefused(simulated, "opencl:0", 64, "opencl:0 is none of the CUDA driver's");
    assertThat(simulated.violations()).isEmpty();
    assertThat(simulated.leaks()).isEmpty();
  }

  private static void assertRefused(SimulatedCuda simulated, String id, long bytes, String why) {
    assertThatThrownBy(() -> withDriver(simulated, () -> BareCuda.open(id, bytes)))
        .isInstanceOf(UnsupportedOperationException.class)
        .hasMessageContaining(why);
  }

  @Test
  void a_device_is_the_one_that_the_library_calls_so_though_others_are_left_out() {
    SimulatedCuda simulated = SimulatedCuda.orSkip();
    simulated.reset(4);
    // Prohibited, and in exclusive mode with another process.
    simulated.set(0, "attribute.20", 2);
    simulated.set(2, "attribute.20", 3);
    simulated.set(2, "taken", 1);
    withDriver(
        simulated,
        () -> {
          try (BareCuda bare = BareCuda.open("cuda:1", 64)) {
            bare.fill(10);
            assertThat(simulated.leaks())
                .filteredOn(left -> left.startsWith("device memory"))
                .hasSize(2)
                .allMatch(left -> left.endsWith("on device 3"));
          }
          return true;
        });
    assertThat(simulated.violations()).isEmpty();
    assertThat(simulated.leaks()).isEmpty();
  }
}
