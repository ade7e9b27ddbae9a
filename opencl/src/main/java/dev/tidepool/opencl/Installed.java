package dev.tidepool.opencl;

import dev.tidepool.AcceleratorException;
import dev.tidepool.spi.support.FailureText;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Supplier;

/**
 * The devices of all platforms of this machine, best first, and a sentence for users about each
 * platform or device that was left out. The search loads the drivers, so it happens once for the
 * process, with the signal handlers preserved. It never fails: a broken platform or device is left
 * out with a note.
 *
 * @param devices graphics processors first, then other accelerators, then processors; within a
 *     kind, those with more memory first, and equal ones in the driver's order
 * @param notes in the order in which they were found
 */
record Installed(List<Found> devices, List<String> notes) {

  /** A usable device and its platform. */
  record Found(Platform platform, DeviceProperties properties) {}

  private static final int CL_PLATFORM_NAME = 0x0902;

  /** Loaded once: a driver cannot be unloaded, and its devices stay the same until exit. */
  private static final class Once {
    static final Installed RESULT = search();
  }

  static Installed look() {
    return Once.RESULT;
  }

  private static Installed search() {
    List<String> notes = new ArrayList<>();
    List<Found> devices = new ArrayList<>();
    try {
      SignalHandlers.preserving(
          () -> {
            if (OpenCL.LIBRARY.lookup().isEmpty()) {
              notes.add("OpenCL: " + OpenCL.LIBRARY.absence());
            } else {
              lookInto(platforms(notes), devices, notes);
            }
            return true;
          });
    } catch (RuntimeException | LinkageError broken) {
      notes.add("OpenCL: the search for devices failed: " + FailureText.of(broken));
    }
    devices.sort(
        Comparator.comparingInt((Found found) -> rank(found.properties()))
            .thenComparing(
                Comparator.comparingLong((Found found) -> found.properties().globalMemory())
                    .reversed()));
    return new Installed(List.copyOf(devices), List.copyOf(notes));
  }

  private static int rank(DeviceProperties properties) {
    if (properties.isGpu()) {
      return 0;
    }
    return properties.isCpu() ? 2 : 1;
  }

  private static long[] platforms(List<String> notes) {
    long[] platforms =
        orEmpty(OpenCL::clGetPlatformIDs, ErrorCodes.CL_PLATFORM_NOT_FOUND_KHR, "OpenCL", notes);
    if (platforms.length == 0 && notes.isEmpty()) {
      notes.add(
          "OpenCL: the library is here, but no driver is registered with it; install your GPU's"
              + " OpenCL driver, or pocl-opencl-icd for OpenCL on the processor");
    }
    return platforms;
  }

  private static void lookInto(long[] platforms, List<Found> devices, List<String> notes) {
    for (int index = 0; index < platforms.length; index++) {
      long handle = platforms[index];
      String name = "OpenCL platform " + index;
      try {
        name += " (" + NativeCall.text(OpenCL.clGetPlatformInfo(handle, CL_PLATFORM_NAME)) + ")";
        long[] ids =
            orEmpty(
                () -> OpenCL.clGetDeviceIDs(handle, OpenCL.CL_DEVICE_TYPE_ALL),
                ErrorCodes.CL_DEVICE_NOT_FOUND,
                name,
                notes);
        if (ids.length == 0) {
          notes.add(name + ": no device");
        }
        List<DeviceProperties> usable = usable(ids, name, notes);
        Platform platform = new Platform(handle, usable);
        usable.forEach(properties -> devices.add(new Found(platform, properties)));
      } catch (RuntimeException broken) {
        notes.add(name + " is broken and left out: " + FailureText.of(broken));
      }
    }
  }

  private static List<DeviceProperties> usable(long[] ids, String platform, List<String> notes) {
    List<DeviceProperties> usable = new ArrayList<>();
    for (int index = 0; index < ids.length; index++) {
      long device = ids[index];
      String name = platform + ", device " + index;
      try {
        name += " (" + DeviceProperties.nameOf(device) + ")";
        var reason = DeviceProperties.unusable(device);
        if (reason.isPresent()) {
          notes.add(name + " is left out: " + reason.get());
        } else {
          usable.add(DeviceProperties.of(device));
        }
      } catch (RuntimeException broken) {
        notes.add(name + " is broken and left out: " + FailureText.of(broken));
      }
    }
    return usable;
  }

  /**
   * Returns a listing. If it fails with the code for "nothing found", it is empty and adds no note.
   */
  private static long[] orEmpty(
      Supplier<long[]> listing, int nothing, String name, List<String> notes) {
    try {
      return listing.get();
    } catch (AcceleratorException none) {
      if (none.code() != nothing) {
        notes.add(name + ": " + none.getMessage());
      }
      return new long[0];
    }
  }
}
