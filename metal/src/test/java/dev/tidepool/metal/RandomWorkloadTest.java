package dev.tidepool.metal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Tidepool;
import dev.tidepool.testkit.RandomWorkload;
import dev.tidepool.testkit.fault.FaultInjector;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Random operations equal plain arrays, on one device and on several, and when calls fail. */
@ExtendWith(NothingLeaks.class)
@Timeout(300)
class RandomWorkloadTest {
  /** More by hand: {@code -Dtidepool.test.operations}. */
  private static final int OPERATIONS = Integer.getInteger("tidepool.test.operations", 5_000);

  @ParameterizedTest
  @CsvSource({"1, shared", "2, shared", "1, private", "2, private"})
  void buffersEqualTheModel(int devices, String storage) {
    Simulation.with(devices);
    try (Tidepool tidepool = Simulation.open(new MetalProvider(), storage)) {
      assertThat(new RandomWorkload(tidepool, "metal:0").operations(OPERATIONS).threads(4).run())
          .isPositive();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"shared", "private"})
  void soTheyDoWhereCommandsTakeTheirTime(String storage) {
    Simulation.with(2).setAll("latency_ns", 30_000);
    try (Tidepool tidepool = Simulation.open(new MetalProvider(), storage)) {
      assertThat(new RandomWorkload(tidepool, "metal:1").operations(OPERATIONS).threads(4).run())
          .isPositive();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"shared", "private"})
  void failingCallsSpoilNothingElse(String storage) {
    Simulation.with(2);
    FaultInjector faults = new FaultInjector(new MetalProvider());
    try (Tidepool tidepool = Simulation.open(faults, storage)) {
      RandomWorkload workload = new RandomWorkload(tidepool, "metal:0").faults(faults);
      assertThat(workload.operations(OPERATIONS).run()).isPositive();
    }
  }

  /** Room for a few of the largest buffers; the rest is in the file. */
  @Test
  void underALimitBuffersEqualTheModelToo(@TempDir Path directory) {
    Simulation.with(1);
    FaultInjector faults = new FaultInjector(new MetalProvider());
    try (Tidepool tidepool = Simulation.open(faults, "private")) {
      RandomWorkload workload =
          new RandomWorkload(tidepool, "metal:0").faults(faults).tight(directory);
      assertThat(workload.operations(OPERATIONS).threads(4).run()).isPositive();
    }
  }
}
