package dev.tidepool.testkit.simulated;

import dev.tidepool.spi.AcceleratorProvider;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Discovery;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * Opens simulated devices with the ids {@code simulated:0} and so on, for {@link Discovery#using}:
 *
 * <pre>{@code
 * SimulatedProvider simulated = new SimulatedProvider(SimulatedHardware.discrete());
 * try (Tidepool tidepool = Discovery.using(List.of(simulated), Tidepool::open)) {
 *   ...
 * }
 * assertThat(simulated.violations()).isEmpty();
 * }</pre>
 *
 * <p>Safe for use by any thread. It keeps every device that it opened, even closed ones.
 */
public final class SimulatedProvider implements AcceleratorProvider {
  private final List<SimulatedHardware> hardware;
  private final List<SimulatedDevice> opened = new CopyOnWriteArrayList<>();

  /** Creates a provider with one device for each description, the best first. */
  public SimulatedProvider(SimulatedHardware... hardware) {
    this.hardware = List.of(hardware);
  }

  @Override
  public String name() {
    return "simulated";
  }

  @Override
  public Discovery discover() {
    List<Device> devices = new ArrayList<>();
    for (int i = 0; i < hardware.size(); i++) {
      SimulatedDevice device = new SimulatedDevice(this, "simulated:" + i, hardware.get(i));
      opened.add(device);
      devices.add(device);
    }
    return new Discovery(devices, List.of("simulated: host memory that acts as an accelerator"));
  }

  /** Returns the devices opened so far, in order. */
  public List<SimulatedDevice> devices() {
    return List.copyOf(opened);
  }

  /** Returns the most recently opened device with an id. */
  public SimulatedDevice device(String id) {
    return opened.reversed().stream()
        .filter(device -> device.info().id().equals(id))
        .findFirst()
        .orElseThrow(
            () -> new IllegalArgumentException("no device " + id + " was opened; open a Tidepool"));
  }

  /**
   * Returns what a real driver would have punished so far, on any device: use of freed blocks,
   * copies out of range, blocks freed under pending commands, events closed twice, objects that
   * were open when their device closed. Each line names the caller.
   */
  public List<String> violations() {
    return opened.stream().flatMap(device -> device.ledger().violations().stream()).toList();
  }
}
