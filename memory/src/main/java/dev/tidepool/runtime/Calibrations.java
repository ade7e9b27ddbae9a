package dev.tidepool.runtime;

import dev.tidepool.Capability;
import dev.tidepool.TransferCalibration;
import dev.tidepool.host.CacheFolder;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.DeviceInfo;
import dev.tidepool.transfer.Calibrator;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.UUID;

/** When the device of a manager is calibrated, and where the figures are kept. */
final class Calibrations {
  private static final System.Logger LOG = System.getLogger("dev.tidepool");

  private final AcceleratorMemory memory;

  Calibrations(AcceleratorMemory memory) {
    this.memory = memory;
  }

  /**
   * Takes the figures of an earlier run, or measures those that take little time. Without figures
   * the ways have a fixed order, so a failure only costs speed.
   */
  void whenWorthwhile() {
    if (!memory.options().calibration() || sharesMemory() || memory.link().calibration() != null) {
      return;
    }
    try {
      Optional<TransferCalibration> kept = kept();
      if (kept.isPresent()) {
        memory.link().calibrated(kept.get());
      } else {
        use(calibrator(false).measure(List.of()));
      }
    } catch (RuntimeException e) {
      LOG.log(Level.DEBUG, memory.id() + " could not be calibrated", e);
    }
  }

  /** Measures everything. */
  TransferCalibration measure() {
    if (sharesMemory()) {
      throw new UnsupportedOperationException(
          memory.id()
              + " uses the host's memory, so nothing is transferred that could be measured");
    }
    return use(calibrator(true).measure(peers()));
  }

  private boolean sharesMemory() {
    return memory.device().info().can(Capability.SHARED_MEMORY);
  }

  private Calibrator calibrator(boolean thorough) {
    return new Calibrator(memory.device(), memory.blocks()::forStaging, thorough);
  }

  private List<Device> peers() {
    return memory.session().accelerators().stream()
        .map(accelerator -> ((DeviceAccelerator) accelerator).device())
        .filter(other -> !other.equals(memory.device()) && memory.device().copiesFrom(other))
        .toList();
  }

  private TransferCalibration use(TransferCalibration measured) {
    memory.link().calibrated(measured);
    folder().put(file(), CalibrationText.of(key(), measured).getBytes(StandardCharsets.UTF_8));
    return measured;
  }

  private Optional<TransferCalibration> kept() {
    return folder()
        .get(file())
        .flatMap(bytes -> CalibrationText.parse(key(), new String(bytes, StandardCharsets.UTF_8)));
  }

  private CacheFolder folder() {
    return memory
        .options()
        .cacheDirectory()
        .map(CacheFolder::new)
        .orElseGet(() -> CacheFolder.named("calibration"));
  }

  private String file() {
    return UUID.nameUUIDFromBytes(key().getBytes(StandardCharsets.UTF_8)) + ".txt";
  }

  /** What the figures depend on: home folders and their caches move between machines. */
  private String key() {
    DeviceInfo device = memory.device().info();
    return String.join(
        " | ",
        device.name(),
        device.driver(),
        machine(),
        System.getProperty("os.arch"),
        Integer.toString(Runtime.getRuntime().availableProcessors()));
  }

  private static String machine() {
    try {
      return Files.readString(Path.of("/etc/machine-id")).strip();
    } catch (IOException e) {
      return System.getProperty("os.name") + " " + System.getProperty("os.version");
    }
  }
}
