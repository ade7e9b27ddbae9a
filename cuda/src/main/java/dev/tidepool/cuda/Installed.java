package dev.tidepool.cuda;

import dev.tidepool.AcceleratorException;
import dev.tidepool.host.system.OperatingSystem;
import dev.tidepool.host.system.Platform;
import dev.tidepool.spi.support.FailureText;
import dev.tidepool.spi.support.NativeLibrary;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;

/**
 * The CUDA driver of this machine: its devices, and a note about each part that is absent or
 * unusable.
 *
 * @param devices the devices that can be opened, in the driver's order, which has the fastest first
 * @param driver its version, in words
 */
record Installed(List<DeviceProperties> devices, String driver, List<String> notes) {
  static final NativeLibrary DRIVER =
      NativeLibrary.open(
          "CUDA driver library",
          Settings.library().map(List::of).orElseGet(() -> usualNames(Platform.CURRENT.system())),
          Settings.library().isPresent()
              ? "check the property tidepool.cuda.library"
              : advice(Platform.CURRENT.system()));

  private static final String NO_DEVICE = "the CUDA driver has no device";
  private static final String UNUSABLE = "the CUDA driver cannot be used: ";

  /**
   * Returns the names of the driver's library on a system; empty if NVIDIA has no driver for it.
   */
  static List<String> usualNames(OperatingSystem system) {
    return switch (system) {
      case MACOS -> List.of();
      case WINDOWS -> List.of("nvcuda.dll");
      case LINUX, OTHER ->
          List.of(
              "libcuda.so.1",
              "/usr/local/nvidia/lib64/libcuda.so.1",
              "/usr/lib/wsl/lib/libcuda.so.1",
              "/run/opengl-driver/lib/libcuda.so.1",
              "libcuda.so");
    };
  }

  static String advice(OperatingSystem system) {
    return system == OperatingSystem.MACOS
        ? "NVIDIA has no driver for macOS"
        : "on a machine with an NVIDIA GPU, install NVIDIA's driver";
  }

  /** Queries the driver; never throws. */
  static Installed look() {
    return look(DeviceNodes.ofThisSystem());
  }

  static Installed look(DeviceNodes nodes) {
    if (!DRIVER.isPresent()) {
      return nothing(DRIVER.absence());
    }
    try {
      int version = Cuda.cuDriverGetVersion();
      if (version < Cuda.OLDEST_DRIVER) {
        return nothing(
            "the CUDA driver is too old: it supports CUDA "
                + words(version)
                + ", and "
                + Cuda.OLDEST_DRIVER_NAME
                + " or newer is needed (driver 470 or newer); update the driver");
      }
      Cuda.cuInit();
      List<String> notes = new ArrayList<>();
      List<DeviceProperties> devices = devices(notes);
      if (devices.isEmpty() && notes.isEmpty()) {
        notes.add(NO_DEVICE + nodes.whyNone());
      }
      return new Installed(devices, "CUDA " + words(version), notes);
    } catch (AcceleratorException refused) {
      return nothing(
          switch (refused.code()) {
            case ErrorCodes.CUDA_ERROR_NO_DEVICE -> NO_DEVICE + nodes.whyNone();
            // The driver answers this if it may open some of its files, but not all.
            case ErrorCodes.CUDA_ERROR_OPERATING_SYSTEM, ErrorCodes.CUDA_ERROR_UNKNOWN ->
                UNUSABLE + refused.getMessage() + nodes.whyDenied();
            default -> UNUSABLE + refused.getMessage();
          });
    } catch (RuntimeException broken) {
      return nothing(UNUSABLE + FailureText.of(broken));
    }
  }

  /** Returns the CUDA version of the driver; empty if there is no driver. */
  static OptionalInt driverVersion() {
    try {
      return DRIVER.isPresent() ? OptionalInt.of(Cuda.cuDriverGetVersion()) : OptionalInt.empty();
    } catch (RuntimeException broken) {
      return OptionalInt.empty();
    }
  }

  private static Installed nothing(String why) {
    return new Installed(List.of(), "", List.of(why));
  }

  private static List<DeviceProperties> devices(List<String> notes) {
    List<DeviceProperties> devices = new ArrayList<>();
    int count = Cuda.cuDeviceGetCount();
    for (int ordinal = 0; ordinal < count; ordinal++) {
      try {
        int handle = Cuda.cuDeviceGet(ordinal);
        int mode = Cuda.cuDeviceGetAttribute(handle, Cuda.CU_DEVICE_ATTRIBUTE_COMPUTE_MODE);
        if (mode == Cuda.CU_COMPUTEMODE_PROHIBITED) {
          notes.add(
              Cuda.cuDeviceGetName(handle)
                  + " is left out: its compute mode prohibits its use; the administrator allows it"
                  + " with nvidia-smi -c DEFAULT");
        } else {
          devices.add(DeviceProperties.of(handle));
        }
      } catch (RuntimeException broken) {
        notes.add("CUDA device " + ordinal + " is left out: " + FailureText.of(broken));
      }
    }
    return devices;
  }

  /** Returns 12.4 for 12040. */
  static String words(int version) {
    return version / 1000 + "." + version % 1000 / 10;
  }
}
