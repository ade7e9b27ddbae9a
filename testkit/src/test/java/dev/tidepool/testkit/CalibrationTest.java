package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryOptions;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.simulated.DriverLedger;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedLink;
import dev.tidepool.testkit.simulated.SimulatedLink.Speed;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import dev.tidepool.transfer.TransferCalibration;
import dev.tidepool.transfer.TransferCalibration.Leg;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** When ways are measured, and when what an earlier run measured is taken. */
class CalibrationTest {
  private static final int LARGE = 8 << 20;

  @TempDir private Path folder;

  private final SimulatedProvider simulated =
      new SimulatedProvider(
          SimulatedHardware.discrete()
              .withLink(SimulatedLink.both(Speed.of(10, 4000), Speed.of(20, 2000))));

  private Path cache() {
    return folder.resolve("cache");
  }

  private Tidepool open(boolean calibration) {
    MemoryOptions options =
        MemoryOptions.builder().calibration(calibration).cacheDirectory(cache()).build();
    return Discovery.using(List.of(simulated), () -> Tidepool.open(options));
  }

  /** Copies so many bytes to a device and back, and answers what is known of its ways then. */
  private static boolean calibrates(Tidepool tidepool, int bytes) {
    byte[] array = new byte[bytes];
    array[bytes - 1] = 7;
    try (UnifiedBuffer<byte[]> buffer = tidepool.memory().allocate(ElementType.BYTE, bytes)) {
      buffer.copyFrom(array);
      byte[] back = new byte[bytes];
      buffer.copyTo(back);
      assertThat(back).isEqualTo(array);
    }
    return !Double.isNaN(tidepool.memory().transfers().statistics().hostToDevicePeak());
  }

  private List<Path> files() throws IOException {
    if (!Files.exists(cache())) {
      return List.of();
    }
    try (Stream<Path> files = Files.list(cache())) {
      return files.toList();
    }
  }

  private DriverLedger ledger() {
    return simulated.device("simulated:0").ledger();
  }

  @AfterEach
  void nothingIsPunished() {
    assertThat(simulated.violations()).isEmpty();
  }

  @Test
  void theFirstLargeTransferMeasuresAndTheNextRunKnows() throws IOException {
    double peak;
    try (Tidepool tidepool = open(true)) {
      assertThat(calibrates(tidepool, LARGE / 2)).as("not worth it").isFalse();
      assertThat(files()).isEmpty();
      assertThat(calibrates(tidepool, LARGE)).isTrue();
      peak = tidepool.memory().transfers().statistics().hostToDevicePeak();
    }
    assertThat(files()).hasSize(1);
    try (Tidepool tidepool = open(true)) {
      assertThat(calibrates(tidepool, LARGE)).isTrue();
      assertThat(tidepool.memory().transfers().statistics().hostToDevicePeak()).isEqualTo(peak);
      assertThat(ledger().calls(SpiCall.COPY)).as("copies measured").isZero();
    }
  }

  @Test
  void switchedOffNothingIsMeasuredUntilAskedFor() throws IOException {
    try (Tidepool tidepool = open(false)) {
      assertThat(calibrates(tidepool, LARGE)).isFalse();
      assertThat(files()).isEmpty();
      tidepool.memory().transfers().calibrate();
      assertThat(calibrates(tidepool, 1000)).isTrue();
    }
  }

  @Test
  void aDamagedFileIsMeasuredAgain() throws IOException {
    try (Tidepool tidepool = open(true)) {
      tidepool.memory().transfers().calibrate();
    }
    Path file = files().getFirst();
    byte[] whole = Files.readAllBytes(file);
    whole[whole.length / 2] ^= 1;
    Files.write(file, whole);
    try (Tidepool tidepool = open(true)) {
      assertThat(calibrates(tidepool, LARGE)).isTrue();
      assertThat(ledger().calls(SpiCall.COPY)).as("copies measured").isPositive();
    }
    assertThat(Files.readAllBytes(files().getFirst())).isNotEqualTo(whole);
  }

  @Test
  void askedForItMeasuresAgainWhateverIsKept() throws IOException {
    try (Tidepool tidepool = open(true)) {
      TransferCalibration first = tidepool.memory().transfers().calibrate();
      TransferCalibration second = tidepool.memory().transfers().calibrate();
      assertThat(second.measured()).isAfter(first.measured());
      assertThat(second.legs().keySet()).containsExactlyInAnyOrder(Leg.values());
      assertThat(files()).hasSize(1);
    }
  }

  @Test
  void onlyTheOwnerReachesWhatIsKept() throws IOException {
    try (Tidepool tidepool = open(true)) {
      tidepool.memory().transfers().calibrate();
    }
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(cache())))
        .isEqualTo("rwx------");
  }

  @Test
  void withinALimitItTakesNoMore() {
    MemoryOptions.Builder options =
        MemoryOptions.builder().calibration(true).cacheDirectory(cache());
    try (Tidepool tidepool =
        Discovery.using(
            List.of(simulated), () -> Tidepool.open(options.memoryLimit(LARGE + 1000).build()))) {
      assertThat(calibrates(tidepool, LARGE)).as("no room beside the buffer").isFalse();
      assertThatThrownBy(() -> tidepool.memory().transfers().calibrate())
          .isInstanceOf(OutOfDeviceMemoryException.class);
    }
    try (Tidepool tidepool =
        Discovery.using(
            List.of(simulated), () -> Tidepool.open(options.memoryLimit(4 * LARGE).build()))) {
      assertThat(calibrates(tidepool, LARGE)).isTrue();
      tidepool.memory().transfers().calibrate();
    }
  }

  @Test
  void byDefaultNothingIsMeasuredUntilAProgramAsks() {
    MemoryOptions options = MemoryOptions.builder().cacheDirectory(cache()).build();
    try (Tidepool tidepool = Discovery.using(List.of(simulated), () -> Tidepool.open(options))) {
      assertThat(calibrates(tidepool, LARGE)).isFalse();
      assertThat(cache()).doesNotExist();
      tidepool.memory().transfers().calibrate();
      assertThat(calibrates(tidepool, LARGE)).isTrue();
    }
  }

  @Test
  void aDeviceThatIsTooFullStaysAsItWas() {
    SimulatedProvider full =
        new SimulatedProvider(SimulatedHardware.discrete().withMemory(2L * LARGE));
    MemoryOptions options =
        MemoryOptions.builder().calibration(true).cacheDirectory(cache()).build();
    try (Tidepool tidepool = Discovery.using(List.of(full), () -> Tidepool.open(options));
        UnifiedBuffer<byte[]> other = tidepool.memory().allocate(ElementType.BYTE, LARGE)) {
      assertThat(calibrates(tidepool, LARGE)).isFalse();
      assertThat(other.length()).isEqualTo(LARGE);
    }
    assertThat(full.violations()).isEmpty();
  }
}
