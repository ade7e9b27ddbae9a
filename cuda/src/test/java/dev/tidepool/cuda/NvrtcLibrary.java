package dev.tidepool.cuda;

import static org.junit.jupiter.api.Assumptions.abort;

/**
 * The real NVRTC for tests, which needs no device. A process has one compiler, which its first use
 * decides, and other tests have that of the simulated driver: so these run in a process of their
 * own, which says so.
 */
final class NvrtcLibrary {
  private static final String OWN_PROCESS = "tidepool.test.nvrtc";

  private NvrtcLibrary() {}

  /** Skips the test where none is found, or others may want another. */
  static void require() {
    if (!Boolean.getBoolean(OWN_PROCESS)) {
      skip("NVIDIA'S NVRTC IS NOT ASKED: run these tests alone, with -D" + OWN_PROCESS + "=true");
    }
    Nvrtc.absence()
        .ifPresent(absence -> skip("NO NVRTC: generated CUDA C++ is not compiled; " + absence));
  }

  private static void skip(String message) {
    System.err.println(message);
    abort(message);
  }
}
