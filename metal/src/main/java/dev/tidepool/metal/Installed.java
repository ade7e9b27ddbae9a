package dev.tidepool.metal;

import dev.tidepool.spi.support.FailureText;
import dev.tidepool.spi.support.NativeLibrary;
import java.util.ArrayList;
import java.util.List;

/**
 * The Metal devices of this machine, and a note about each part that is absent or unusable.
 *
 * @param devices handles, owned by the caller; the default device first
 * @param system the version of macOS in words
 */
record Installed(List<Long> devices, String system, List<String> notes) {
  /** The oldest supported macOS: the first that reports the parameters of a kernel. */
  static final int OLDEST = 13;

  /** Queries Metal; never throws. */
  static Installed look() {
    NativeLibrary library = MetalLibrary.INSTALLED;
    if (!library.isPresent()) {
      return nothing(library.absence());
    }
    try {
      return ObjectiveC.pooled(Installed::ask);
    } catch (RuntimeException broken) {
      return nothing("Metal cannot be used: " + FailureText.of(broken));
    }
  }

  private static Installed nothing(String why) {
    return new Installed(List.of(), "", List.of(why));
  }

  private static Installed ask() {
    String system = "macOS " + Foundation.systemVersion();
    if (!Foundation.isSystemAtLeast(OLDEST, 0)) {
      return nothing(
          "Metal is too old: this is " + system + ", and macOS " + OLDEST + " or newer is needed");
    }
    List<Long> devices = new ArrayList<>();
    long preferred = Metal.createSystemDefaultDevice();
    if (preferred != 0) {
      devices.add(preferred);
    }
    long all = Metal.copyAllDevices();
    if (all != 0) {
      for (long device : Foundation.elements(all)) {
        if (device != preferred) {
          NativeCall.retain(ObjectKind.DEVICE, device);
          devices.add(device);
        }
      }
      Foundation.release(all);
    }
    return devices.isEmpty()
        ? new Installed(
            List.of(),
            system,
            List.of(
                "Metal has no device in this session; run in a session of a user who is logged in,"
                    + " or on a machine with a GPU that Metal supports"))
        : new Installed(devices, system, List.of());
  }
}
