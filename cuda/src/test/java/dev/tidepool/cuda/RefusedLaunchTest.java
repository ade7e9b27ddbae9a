package dev.tidepool.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.AcceleratorException;
import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.testkit.cuda.SimulatedCuda;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** The thread that asks for what the driver refuses waits only for commands that were accepted. */
@ExtendWith(NothingLeaks.class)
class RefusedLaunchTest {
  private static final String LAUNCH = "cuLaunchKernel";
  private static final String SYNCHRONIZE = "cuStreamSynchronize";
  private static final int UNKNOWN = 999;

  /** Arguments of a kernel that has run with them once. */
  private interface Body {
    void run(SimulatedCuda simulated, Kernel twice, Arguments arguments);
  }

  private static void withKernel(boolean staged, Body body) {
    SimulatedCuda simulated = Simulation.with(1);
    try (Tidepool tidepool = Simulation.open(new CudaProvider())) {
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("cuda:0"));
      Kernel twice = memory.compile(KernelSource.elementwise("y = x + x"));
      try (UnifiedBuffer<byte[]> bytes = memory.allocate(ElementType.BYTE, 4004);
          UnifiedBuffer<byte[]> part = bytes.slice(staged ? 1 : 0, 4000);
          UnifiedBuffer<float[]> x = part.as(ElementType.FLOAT);
          UnifiedBuffer<float[]> y = memory.allocate(ElementType.FLOAT, 1000)) {
        bytes.fill((byte) 0);
        Arguments arguments = Arguments.of("x", x, "y", y);
        twice.execute(arguments);
        body.run(simulated, twice, arguments);
        // The queue serves on.
        twice.execute(arguments);
        float[] zeros = new float[1000];
        y.copyTo(zeros);
        assertThat(zeros).containsOnly(0);
      }
    }
  }

  private static void assertRefused(
      SimulatedCuda simulated, Kernel twice, Arguments arguments, String call, int nth) {
    simulated.forget();
    simulated.fail(call, nth, UNKNOWN);
    assertThatThrownBy(() -> twice.execute(arguments))
        .isInstanceOf(AcceleratorException.class)
        .hasMessageContaining(call);
  }

  @Test
  void aRefusedLaunchWaitsForNothing() {
    withKernel(
        false,
        (simulated, twice, arguments) -> {
          assertRefused(simulated, twice, arguments, LAUNCH, 1);
          assertThat(simulated.calls(SYNCHRONIZE)).isZero();
        });
  }

  @Test
  void copiesBeforeARefusedLaunchHaveEnded() {
    withKernel(
        true,
        (simulated, twice, arguments) -> {
          assertRefused(simulated, twice, arguments, LAUNCH, 1);
          assertThat(simulated.calls(SYNCHRONIZE)).isEqualTo(1);
        });
  }

  @Test
  void aLaunchHasEndedWhoseEventIsRefused() {
    withKernel(
        false,
        (simulated, twice, arguments) -> {
          assertRefused(simulated, twice, arguments, "cuEventRecord", 1);
          assertThat(simulated.calls(LAUNCH)).isEqualTo(1);
          assertThat(simulated.calls(SYNCHRONIZE)).isEqualTo(1);
        });
  }
}
