package dev.tidepool.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.SpiCall;
import dev.tidepool.testkit.fault.Failure;
import dev.tidepool.testkit.fault.FaultInjector;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

@DisplayName("An error of the device")
class DeviceFailureTest {
  private final SimulatedProvider simulated = new SimulatedProvider(SimulatedHardware.discrete());
  private final FaultInjector faults = new FaultInjector(simulated);
  private SparkSession spark;
  private Dataset<Row> numbers;

  @BeforeEach
  void start() {
    spark =
        Discovery.using(
            List.of(faults),
            () -> LocalSpark.start("local[2,3]", Map.of("spark.tidepool.chunk-bytes", "64k")));
    numbers = spark.range(0, 20_000, 1, 4).selectExpr("id", "id / 7D as x");
  }

  @AfterEach
  void stop() {
    spark.stop();
    assertThat(simulated.violations()).isEmpty();
  }

  private Dataset<Row> ours() {
    return TidepoolFunctions.mapPartitions(numbers, ColumnKernel.elementwise("y = 2 * x"), "x");
  }

  private void assertComplete() {
    assertThat(ours().orderBy("id").collectAsList())
        .isEqualTo(numbers.selectExpr("id", "x", "2D * x as y").orderBy("id").collectAsList());
  }

  @Test
  @DisplayName("fails the task, which Spark tries again")
  void triedAgain() {
    for (SpiCall call : List.of(SpiCall.LAUNCH, SpiCall.WRITE, SpiCall.READ)) {
      faults.fail(call, 3, Failure.BROKEN);
      assertComplete();
      assertThat(faults.fired()).contains(call);
    }
    assertThat(ExecutorSession.current().tidepool().memory().buffers()).isEmpty();
  }

  @Test
  @DisplayName("that stays fails the job at once, and neither the executor nor the application")
  void lost() {
    faults.fail(SpiCall.LAUNCH, 3, Failure.DEVICE_LOST);
    assertThatThrownBy(() -> ours().collectAsList())
        .hasStackTraceContaining("failed 3 times")
        .hasStackTraceContaining("was lost");
    assertThat(faults.hasLostDevice()).isTrue();
    long calls = faults.calls();
    assertThatThrownBy(() -> ours().collectAsList())
        .hasMessageContaining("executor driver: the device simulated:0")
        .hasMessageContaining("was lost in an earlier task")
        .hasMessageContaining("spark.excludeOnFailure.enabled=true");
    assertThat(faults.calls()).isEqualTo(calls);
    assertThat(numbers.count()).isEqualTo(20_000);
    assertThat(ExecutorSession.current().tidepool().memory().buffers()).isEmpty();
  }

  @Test
  @DisplayName("does not follow from compiling: one kernel is compiled once for all tasks")
  void compiledOnce() {
    assertComplete();
    assertComplete();
    assertThat(faults.callsByKind()).containsEntry(SpiCall.COMPILE, 1L);
  }
}
