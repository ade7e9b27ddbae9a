package dev.tidepool.spark;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

@DisplayName("A partition larger than the memory limit")
class LimitedMemoryTest {
  private static final long LIMIT = 1L << 20;

  @Test
  @DisplayName("is computed in parts, on a device with memory of its own")
  void outOfCore() {
    assertComplete(
        numbers ->
            TidepoolFunctions.mapPartitions(
                numbers, ColumnKernel.elementwise("y = x * x - 3"), "x"));
  }

  @Test
  @DisplayName("is computed by two kernels of a stage that need the room of each other")
  void twoKernels() {
    assertComplete(
        numbers ->
            TidepoolFunctions.mapPartitions(
                TidepoolFunctions.mapPartitions(
                    numbers, ColumnKernel.elementwise("z = x * x"), "x"),
                ColumnKernel.elementwise("y = z - 3"),
                "z"));
  }

  private static void assertComplete(UnaryOperator<Dataset<Row>> kernels) {
    SimulatedProvider simulated = new SimulatedProvider(SimulatedHardware.discrete());
    SparkSession spark =
        Discovery.using(
            List.of(simulated),
            () ->
                LocalSpark.start(
                    "local[2]", Map.of("spark.tidepool.memory-limit", String.valueOf(LIMIT))));
    try {
      // Two partitions of 8 MB each, and as much for the results.
      Dataset<Row> numbers = spark.range(0, 2_000_000, 1, 2).selectExpr("id", "id / 7D as x");
      Dataset<Row> ours = kernels.apply(numbers);
      assertThat(ours.where("y <> x * x - 3D").count()).isZero();
      assertThat(ours.count()).isEqualTo(2_000_000);
      assertThat(ExecutorSession.current().tidepool().memory().statistics().peakUsage())
          .isBetween(1L, LIMIT);
    } finally {
      spark.stop();
    }
    assertThat(simulated.violations()).isEmpty();
  }
}
