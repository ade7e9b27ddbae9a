package dev.tidepool.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Tidepool;
import dev.tidepool.testkit.RandomKernels;
import dev.tidepool.testkit.RandomWorkload;
import dev.tidepool.testkit.fault.FaultInjector;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Random operations and random kernels on the first card of this machine. */
@Timeout(1000)
class CardWorkloadTest {
  private static final int OPERATIONS = Integer.getInteger("tidepool.test.operations", 20_000);
  private static final int KERNELS = Integer.getInteger("tidepool.testkit.kernels", 2_000);

  private final Map<ObjectKind, Long> before = Simulation.liveObjects();

  @AfterEach
  void nothingLeaks() {
    assertThat(Simulation.liveObjects()).as("live objects").isEqualTo(before);
  }

  private static RandomWorkload workload(Tidepool tidepool) {
    return new RandomWorkload(tidepool, "cuda:0")
        .operations(OPERATIONS)
        .nativeFill(RandomWorkloadTest::fill);
  }

  @Test
  void buffersEqualTheModel() {
    try (Tidepool tidepool = Simulation.open(new CudaProvider())) {
      assertThat(workload(tidepool).threads(4).run()).isPositive();
    }
  }

  @Test
  void failingCallsSpoilNothingElse() {
    FaultInjector faults = new FaultInjector(new CudaProvider());
    try (Tidepool tidepool = Simulation.open(faults)) {
      assertThat(workload(tidepool).faults(faults).run()).isPositive();
    }
  }

  @Test
  void underALimitBuffersEqualTheModelToo(@TempDir Path directory) {
    FaultInjector faults = new FaultInjector(new CudaProvider());
    try (Tidepool tidepool = Simulation.open(faults)) {
      assertThat(workload(tidepool).faults(faults).tight(directory).threads(4).run()).isPositive();
    }
  }

  @Test
  void kernelsEqualTheirMethods() {
    try (Tidepool tidepool = Simulation.open(new CudaProvider())) {
      assertThat(new RandomKernels(tidepool, "cuda:0").kernels(KERNELS).inPrograms().run())
          .isPositive();
    }
  }
}
