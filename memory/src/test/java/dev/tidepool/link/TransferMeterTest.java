package dev.tidepool.link;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.transfer.TransferCalibration;
import dev.tidepool.transfer.TransferCalibration.Cost;
import dev.tidepool.transfer.TransferCalibration.Leg;
import dev.tidepool.transfer.TransferStatistics;
import dev.tidepool.transfer.TransferWay;
import dev.tidepool.transfer.WayStatistics;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Which figures count a movement. */
final class TransferMeterTest {
  private static final long SECOND = 1_000_000_000;

  private final TransferMeter meter = new TransferMeter();

  @Test
  void eachDirectionHasItsOwnBytesNumberAndTime() {
    meter.moved(Direction.HOST_TO_DEVICE, 1000, SECOND, TransferWay.STAGED_PINNED);
    meter.moved(Direction.HOST_TO_DEVICE, 3000, 3 * SECOND, TransferWay.PINNED_DIRECT);
    meter.moved(Direction.DEVICE_TO_HOST, 10_000, SECOND, TransferWay.STAGED_PLAIN);
    meter.moved(Direction.DEVICE_TO_HOST, 20_000, SECOND, TransferWay.STAGED_PLAIN);
    meter.moved(Direction.DEVICE_TO_HOST, 30_000, 4 * SECOND, TransferWay.PLAIN_DIRECT);
    meter.moved(Direction.DEVICE_TO_DEVICE, 500, SECOND / 2, TransferWay.DEVICE_LOCAL);
    meter.copiedOnHost(7, SECOND);
    TransferStatistics figures = meter.statistics(null);

    assertThat(figures.hostToDeviceBytes()).isEqualTo(4000);
    assertThat(figures.hostToDeviceTransfers()).isEqualTo(2);
    assertThat(figures.hostToDeviceTime()).hasSeconds(4);
    assertThat(figures.hostToDeviceAverageTime()).hasSeconds(2);
    assertThat(figures.hostToDeviceBandwidth()).isEqualTo(1000);

    assertThat(figures.deviceToHostBytes()).isEqualTo(60_000);
    assertThat(figures.deviceToHostTransfers()).isEqualTo(3);
    assertThat(figures.deviceToHostTime()).hasSeconds(6);
    assertThat(figures.deviceToHostAverageTime()).hasSeconds(2);
    assertThat(figures.deviceToHostBandwidth()).isEqualTo(10_000);

    assertThat(figures.deviceToDeviceBytes()).isEqualTo(500);
    assertThat(figures.deviceToDeviceTransfers()).isEqualTo(1);
    assertThat(figures.deviceToDeviceTime()).hasMillis(500);
    assertThat(figures.deviceToDeviceBandwidth()).isEqualTo(1000);

    assertThat(figures.stagedBytes()).isEqualTo(31_000);
    assertThat(figures.way(TransferWay.SAME_MEMORY))
        .isEqualTo(new WayStatistics(1, 7, Duration.ofSeconds(1)));
    assertThat(figures.way(TransferWay.STAGED_PLAIN).averageTime()).hasSeconds(1);
  }

  @Test
  void anEfficiencyComparesWithTheFasterLegOfItsDirection() {
    meter.moved(Direction.HOST_TO_DEVICE, 1000, SECOND, TransferWay.PINNED_DIRECT);
    meter.moved(Direction.DEVICE_TO_HOST, 6000, SECOND, TransferWay.PINNED_DIRECT);
    TransferStatistics figures = meter.statistics(calibration());
    assertThat(figures.hostToDevicePeak()).isEqualTo(4000);
    assertThat(figures.deviceToHostPeak()).isEqualTo(8000);
    assertThat(figures.deviceToDevicePeak()).isEqualTo(16_000);
    assertThat(figures.hostToDeviceEfficiency()).isEqualTo(0.25);
    assertThat(figures.deviceToHostEfficiency()).isEqualTo(0.75);
  }

  @Test
  void beforeTheFirstTransferAllIsZeroAndWithoutACalibrationNothingIsKnown() {
    TransferStatistics figures = meter.statistics(null);
    assertThat(figures.deviceToHostAverageTime()).isZero();
    assertThat(figures.deviceToDeviceBandwidth()).isZero();
    assertThat(figures.ways()).isEmpty();
    assertThat(figures.hostToDevicePeak()).isNaN();
    assertThat(figures.deviceToHostPeak()).isNaN();
    assertThat(figures.deviceToHostEfficiency()).isNaN();
  }

  private static TransferCalibration calibration() {
    return new TransferCalibration(
        Instant.EPOCH,
        Map.of(
            Leg.PINNED_UP, peak(4000),
            Leg.PLAIN_UP, peak(2000),
            Leg.PINNED_DOWN, peak(1000),
            Leg.PLAIN_DOWN, peak(8000),
            Leg.LOCAL, peak(16_000)),
        Map.of());
  }

  private static Cost peak(double bytesPerSecond) {
    return new Cost(1000, 1e9 / bytesPerSecond);
  }
}
