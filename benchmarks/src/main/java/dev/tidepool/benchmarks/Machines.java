package dev.tidepool.benchmarks;

import dev.tidepool.Accelerator;
import dev.tidepool.Tidepool;

/** The accelerators of the benchmarks. */
final class Machines {
  private Machines() {}

  /**
   * Opens all accelerators. In mode {@code shared}, OpenCL devices are used as they are. In mode
   * {@code discrete}, only transfers reach their memory, as with a graphics card, and the devices
   * are calibrated. The mode applies to the whole JVM, so each benchmark needs its own fork.
   */
  static Tidepool open(String mode) {
    switch (mode) {
      case "shared" -> {}
      case "discrete" -> {
        System.setProperty("tidepool.calibration", "true");
        System.setProperty("tidepool.opencl.sharedMemory", "false");
        System.setProperty("tidepool.opencl.svm", "none");
      }
      default -> throw new IllegalArgumentException("mode is " + mode);
    }
    return Tidepool.open();
  }

  /** Returns the first OpenCL device. */
  static Accelerator openCl(Tidepool tidepool) {
    return tidepool.accelerator("opencl:0");
  }
}
