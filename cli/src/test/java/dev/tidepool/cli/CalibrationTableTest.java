package dev.tidepool.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Tidepool;
import dev.tidepool.transfer.TransferCalibration;
import dev.tidepool.transfer.TransferCalibration.Cost;
import dev.tidepool.transfer.TransferCalibration.Leg;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Map;
import org.junit.jupiter.api.Test;

class CalibrationTableTest {
  @Test
  void tells_latency_bandwidth_and_the_time_of_a_mebibyte_of_each_leg_in_80_columns() {
    TransferCalibration calibration =
        new TransferCalibration(
            Instant.EPOCH,
            Map.of(Leg.PINNED_UP, new Cost(10_000, 0.5), Leg.LOCAL, new Cost(2000, 0)),
            Map.of("another GPU", new Cost(5000, 1)));
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    CalibrationTable.Report report;
    try (Tidepool tidepool = Tidepool.open()) {
      report =
          new CalibrationTable(new PrintStream(bytes, true, StandardCharsets.UTF_8))
              .print(tidepool.accelerator("cpu:0"), calibration);
    }
    String text = bytes.toString(StandardCharsets.UTF_8);
    assertThat(text.lines()).allSatisfy(line -> assertThat(line).hasSizeLessThan(81));
    assertThat(text)
        .containsPattern("pinned memory to device +10.0 µs +1.86 GiB/s +534 µs")
        .containsPattern("device to device +2.00 µs +- +2.00 µs")
        .containsPattern("from another GPU +5.00 µs")
        .doesNotContain("array to staging");
    assertThat(report.device()).isEqualTo("cpu:0");
    assertThat(report.rows()).hasSize(3);
    assertThat(report.rows())
        .contains(new CalibrationTable.Row("pinned memory to device", 10_000, 2e9));
  }
}
