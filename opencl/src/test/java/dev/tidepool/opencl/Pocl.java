package dev.tidepool.opencl;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.abort;

import dev.tidepool.spi.Device;
import dev.tidepool.spi.Discovery;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/** The OpenCL devices of this machine for tests, and what happens when it has none. */
final class Pocl {
  private static final String ADVICE =
      "NO OPENCL DEVICE: these tests need one; apt install pocl-opencl-icd ocl-icd-libopencl1. ";

  private Pocl() {}

  /**
   * All devices, opened; skips the test where there is none, and fails it where CI promised one.
   */
  static List<Device> devices() {
    Discovery found = new OpenClProvider().discover();
    if (found.devices().isEmpty()) {
      String message = ADVICE + found.notes();
      assertTrue(!"true".equals(System.getenv("CI")), message);
      System.err.println(message);
      abort(message);
    }
    return found.devices();
  }

  /** The first device, opened with settings that last only for that. */
  static Device device(Map<String, String> settings) {
    return with(
        settings,
        () -> {
          List<Device> devices = devices();
          devices.subList(1, devices.size()).forEach(Device::close);
          return devices.getFirst();
        });
  }

  /** Runs an action under system properties. */
  static <T> T with(Map<String, String> settings, Supplier<T> action) {
    settings.forEach(System::setProperty);
    try {
      return action.get();
    } finally {
      settings.keySet().forEach(System::clearProperty);
    }
  }

  /** A new context of a device, as another library has it. */
  static long anotherContext(long device) {
    for (long platform : OpenCL.clGetPlatformIDs()) {
      for (long found : OpenCL.clGetDeviceIDs(platform, OpenCL.CL_DEVICE_TYPE_ALL)) {
        if (found == device) {
          return OpenCL.clCreateContext(platform, new long[] {device});
        }
      }
    }
    throw new AssertionError("the device is of no platform");
  }
}
