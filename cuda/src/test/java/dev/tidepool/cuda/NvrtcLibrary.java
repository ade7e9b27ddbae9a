package dev.tidepool.cuda;

import static org.junit.jupiter.api.Assumptions.abort;

/** The real NVRTC for tests, which needs no device. */
final class NvrtcLibrary {
  private NvrtcLibrary() {}

  /** Skips the test where none is found. */
  static void require() {
    Nvrtc.absence()
        .ifPresent(
            absence -> {
              String message = "NO NVRTC: generated CUDA C++ is not compiled; " + absence;
              System.err.println(message);
              abort(message);
            });
  }
}
