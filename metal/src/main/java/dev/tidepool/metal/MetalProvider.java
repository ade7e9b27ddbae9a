package dev.tidepool.metal;

import dev.tidepool.spi.AcceleratorProvider;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Discovery;
import dev.tidepool.spi.support.Closing;
import dev.tidepool.spi.support.FailureText;
import java.util.ArrayList;
import java.util.List;

/**
 * Finds Apple's graphics processors: {@code metal:0} and so on, the system's default first.
 *
 * <p>Settings, as system properties or environment variables ({@code TIDEPOOL_METAL_STORAGE}):
 *
 * <ul>
 *   <li>{@code tidepool.metal.storage}: {@code auto} allocates device memory in the memory that
 *       host and device share, if they do; {@code shared} always does so; {@code private} allocates
 *       it in memory that only the device can access, with copies between
 *   <li>{@code tidepool.metal.library}: a file with all functions of the Objective-C runtime and of
 *       Metal that are used, instead of the system's
 * </ul>
 */
public final class MetalProvider implements AcceleratorProvider {
  /** Creates a provider for the service loader; does not search for devices yet. */
  public MetalProvider() {}

  @Override
  public String name() {
    return "metal";
  }

  @Override
  public Discovery discover() {
    Installed installed = Installed.look();
    List<String> notes = new ArrayList<>(installed.notes());
    List<Device> devices = new ArrayList<>();
    Settings settings = Settings.read(notes);
    for (long handle : installed.devices()) {
      String id = name() + ":" + devices.size();
      try {
        devices.add(
            ObjectiveC.pooled(() -> MetalDevice.open(id, handle, installed.system(), settings)));
      } catch (RuntimeException broken) {
        Closing.surviving("release", () -> NativeCall.release(ObjectKind.DEVICE, handle));
        notes.add(id + " cannot be opened and is left out: " + FailureText.of(broken));
      }
    }
    return new Discovery(devices, notes);
  }
}
