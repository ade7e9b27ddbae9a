package dev.tidepool.benchmarks;

import dev.tidepool.Accelerator;
import dev.tidepool.Tidepool;

/** The accelerators that the benchmarks name. */
final class Machines {
  private Machines() {}

  /**
   * Opens all accelerators, OpenCL devices in one of two modes: {@code shared}, as they are, or
   * {@code discrete}, where transfers alone reach their memory, as a graphics card's, and
   * calibrated. The mode holds for the whole JVM, which is why each benchmark has a fork of its
   * own.
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
