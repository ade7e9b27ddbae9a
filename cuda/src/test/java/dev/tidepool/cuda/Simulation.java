package dev.tidepool.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.abort;

import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.spi.AcceleratorProvider;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.cuda.SimulatedCuda;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * The simulated driver for tests, which takes the real one's place with the first use of this
 * class: tests come here before they look for devices, because a process has one driver.
 */
final class Simulation {
  static final int CONCURRENT_MANAGED_ACCESS = Cuda.CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS;

  static {
    // Tests on a card have the machine's driver.
    if (!Boolean.getBoolean("tidepool.test.card")) {
      SimulatedCuda.find().ifPresent(Simulation::install);
    }
  }

  private Simulation() {}

  private static void install(SimulatedCuda simulated) {
    System.setProperty("tidepool.cuda.library", simulated.driver().toString());
    System.setProperty("tidepool.nvrtc", simulated.compiler().toString());
    try {
      Path kernels = Files.createDirectories(Path.of("target").toAbsolutePath());
      System.setProperty(
          "tidepool.cuda.cache", Files.createTempDirectory(kernels, "kernels").toString());
    } catch (IOException denied) {
      throw new UncheckedIOException(denied);
    }
  }

  /**
   * Starts the driver again, with so many devices. Skips the test where it cannot be built, and
   * fails it where CI promised that it can.
   */
  static SimulatedCuda with(int devices) {
    Optional<SimulatedCuda> simulated = SimulatedCuda.find();
    if (simulated.isEmpty()) {
      String message = "NO SIMULATED CUDA: these tests need it; " + SimulatedCuda.whyAbsent();
      assertTrue(!"true".equals(System.getenv("CI")), message);
      System.err.println(message);
      abort(message);
    }
    simulated.get().reset(devices);
    return simulated.get();
  }

  /** All devices, opened. */
  static List<Device> devices() {
    return new CudaProvider().discover().devices();
  }

  /** The only device of a driver with one. */
  static Device device() {
    with(1);
    return devices().getFirst();
  }

  /** A Tidepool over these devices alone. */
  static Tidepool open(AcceleratorProvider provider) {
    // A calibration copies from plain memory on purpose, which counts as a slow copy.
    MemoryOptions options = MemoryOptions.builder().calibration(false).build();
    return Discovery.using(List.of(provider), () -> Tidepool.open(options));
  }

  /** Runs an action under system properties. */
  static <T> T under(Map<String, String> settings, Supplier<T> action) {
    settings.forEach(System::setProperty);
    try {
      return action.get();
    } finally {
      settings.keySet().forEach(System::clearProperty);
    }
  }

  static Map<ObjectKind, Long> liveObjects() {
    Map<ObjectKind, Long> live = new EnumMap<>(ObjectKind.class);
    for (ObjectKind kind : ObjectKind.values()) {
      live.put(kind, ObjectKind.LIVE.count(kind));
    }
    return live;
  }

  /** What a real driver would have punished, what is slow, and what was left behind. */
  static void assertCleanBut(Map<ObjectKind, Long> before, boolean fast) {
    SimulatedCuda simulated = SimulatedCuda.find().orElseThrow();
    assertThat(simulated.violations()).as("violations").isEmpty();
    if (fast) {
      assertThat(simulated.notes()).as("what is slow").isEmpty();
    }
    assertThat(simulated.leaks()).as("what was not freed").isEmpty();
    assertThat(liveObjects()).as("live objects").isEqualTo(before);
  }
}
