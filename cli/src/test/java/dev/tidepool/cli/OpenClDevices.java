package dev.tidepool.cli;

import static org.assertj.core.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.abort;

import dev.tidepool.Accelerator;
import dev.tidepool.Tidepool;

/** Whether OpenCL can be tested here. */
final class OpenClDevices {
  private OpenClDevices() {}

  /** Without a device, fails in continuous integration and skips the test, aloud, elsewhere. */
  static void assumePresent() {
    try (Tidepool tidepool = Tidepool.open()) {
      if (tidepool.accelerators().stream().map(Accelerator::id).anyMatch("opencl:0"::equals)) {
        return;
      }
      String why =
          "no OpenCL device (on Debian: apt-get install pocl-opencl-icd ocl-icd-libopencl1): "
              + String.join("; ", tidepool.notes());
      if ("true".equals(System.getenv("CI"))) {
        fail(why);
      }
      System.err.println("SKIPPED: " + why);
      abort(why);
    }
  }
}
