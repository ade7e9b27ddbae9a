package dev.tidepool.opencl;

import dev.tidepool.spi.AcceleratorProvider;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.DeviceOptions;
import dev.tidepool.spi.Discovery;
import dev.tidepool.spi.support.FailureText;
import java.util.ArrayList;
import java.util.List;

/**
 * Finds the OpenCL devices of all platforms: {@code opencl:0} and so on, graphics processors first.
 *
 * <p>Settings, as system properties or environment variables ({@code TIDEPOOL_OPENCL_SVM}): {@code
 * tidepool.opencl.library} names the library's file; {@code tidepool.opencl.svm} is {@code auto},
 * {@code fine}, {@code coarse} or {@code none}; {@code tidepool.opencl.sharedMemory=false} treats
 * devices that share the host's memory like graphics cards that do not; {@code
 * tidepool.opencl.nvidia=always} uses NVIDIA's driver, which is left out by default.
 */
public final class OpenClProvider implements AcceleratorProvider {
  /** Creates a provider for the service loader; does not search for devices yet. */
  public OpenClProvider() {}

  @Override
  public String name() {
    return "opencl";
  }

  @Override
  public Discovery discover() {
    return discover(DeviceOptions.defaults());
  }

  @Override
  public Discovery discover(DeviceOptions options) {
    Installed installed = Installed.look();
    List<String> notes = new ArrayList<>(installed.notes());
    Settings settings = Settings.read(notes).within(options);
    List<Device> devices =
        SignalHandlers.preserving(
            () -> opened(safe(installed.devices(), settings, notes), settings, notes));
    return new Discovery(devices, notes);
  }

  @Override
  public boolean offersOnlyTheCpu() {
    return RegisteredDrivers.ofThisMachine().areForTheCpu();
  }

  /** Returns the devices without those of drivers that may end the process. */
  static List<Installed.Found> safe(
      List<Installed.Found> found, Settings settings, List<String> notes) {
    List<Installed.Found> safe = new ArrayList<>();
    for (Installed.Found each : found) {
      if (each.properties().isUnsafe() && !settings.nvidia()) {
        notes.add(
            "OpenCL on "
                + each.properties().name()
                + " is left out: NVIDIA's OpenCL driver ended the process when it was tested; use"
                + " tidepool-cuda, or set tidepool.opencl.nvidia=always");
      } else {
        safe.add(each);
      }
    }
    return safe;
  }

  private List<Device> opened(List<Installed.Found> found, Settings settings, List<String> notes) {
    List<Device> devices = new ArrayList<>();
    for (int index = 0; index < found.size(); index++) {
      String id = name() + ":" + index;
      try {
        devices.add(OpenClDevice.open(id, found.get(index), settings));
      } catch (RuntimeException broken) {
        notes.add(
            id
                + " ("
                + found.get(index).properties().name()
                + ") cannot be opened and is left out: "
                + FailureText.of(broken));
      }
    }
    return devices;
  }
}
