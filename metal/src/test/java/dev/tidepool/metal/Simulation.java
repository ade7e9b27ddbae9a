package dev.tidepool.metal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.spi.AcceleratorProvider;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.metal.SimulatedMetal;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/**
 * The simulated Metal for tests, which takes the system's place with the first use of this class:
 * tests come here before they look for devices, because a process has one Metal.
 */
final class Simulation {
  static final String STORAGE = "tidepool.metal.storage";

  static {
    SimulatedMetal.find()
        .ifPresent(
            simulated ->
                System.setProperty("tidepool.metal.library", simulated.library().toString()));
  }

  private Simulation() {}

  /** Makes the simulated Metal that of this process, where it can be built. */
  static void install() {
    // The class is initialized now.
  }

  /**
   * Starts Metal again, with so many devices. Skips the test where it cannot be built, and fails it
   * where CI promised that it can.
   */
  static SimulatedMetal with(int devices) {
    assertTrue(
        SimulatedMetal.find().isPresent() || !"true".equals(System.getenv("CI")),
        SimulatedMetal::whyAbsent);
    SimulatedMetal simulated = SimulatedMetal.orSkip();
    simulated.reset(devices);
    return simulated;
  }

  /** All devices, opened. */
  static List<Device> devices() {
    return new MetalProvider().discover().devices();
  }

  /** All devices with memory of their own. */
  static List<Device> privateDevices() {
    return under(Map.of(STORAGE, "private"), Simulation::devices);
  }

  /** The only device of a machine with one. */
  static Device device() {
    with(1);
    return devices().getFirst();
  }

  /** A Tidepool over these devices alone. */
  static Tidepool open(AcceleratorProvider provider) {
    MemoryOptions options = MemoryOptions.builder().calibration(false).build();
    return Discovery.using(List.of(provider), () -> Tidepool.open(options));
  }

  /** A Tidepool over devices whose memory is shared with the host, or private. */
  static Tidepool open(AcceleratorProvider provider, String storage) {
    return under(Map.of(STORAGE, storage), () -> open(provider));
  }

  /** Finds devices whose memory is shared with the host, or private. */
  static AcceleratorProvider provider(String storage) {
    MetalProvider metal = new MetalProvider();
    return new AcceleratorProvider() {
      @Override
      public String name() {
        return metal.name();
      }

      @Override
      public Discovery discover() {
        return under(Map.of(STORAGE, storage), metal::discover);
      }
    };
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

  /** What Metal would have punished, and what was left behind. */
  static void assertCleanBut(Map<ObjectKind, Long> before) {
    SimulatedMetal simulated = SimulatedMetal.find().orElseThrow();
    assertThat(simulated.violations()).as("violations").isEmpty();
    assertThat(simulated.leaks()).as("what was not released").isEmpty();
    assertThat(liveObjects()).as("live objects").isEqualTo(before);
  }
}
