package dev.tidepool.opencl;

import dev.tidepool.spi.DeviceOptions;
import dev.tidepool.spi.support.Setting;
import java.util.List;
import java.util.Optional;

/**
 * Settings for drivers that are in an unusual place or claim more than they can do, from system
 * properties or environment variables (see {@link Setting}).
 *
 * @param svm which shared virtual memory to use
 * @param sharedMemory whether a device may be treated as one that shares the host's memory; if not,
 *     its memory is accessed only by transfers, like a graphics card's
 * @param nvidia whether to use the devices of NVIDIA's driver
 */
record Settings(Svm svm, boolean sharedMemory, boolean nvidia) {

  /** The finest shared virtual memory that the device has, one kind of it only, or none. */
  enum Svm {
    AUTO,
    FINE,
    COARSE,
    NONE
  }

  /** Reads the settings; a value that is not allowed is noted and ignored. */
  static Settings read(List<String> notes) {
    Svm svm =
        switch (Setting.word(
            "tidepool.opencl.svm", List.of("auto", "fine", "coarse", "none"), notes)) {
          case "fine" -> Svm.FINE;
          case "coarse" -> Svm.COARSE;
          case "none" -> Svm.NONE;
          default -> Svm.AUTO;
        };
    String shared = Setting.word("tidepool.opencl.sharedMemory", List.of("auto", "false"), notes);
    String nvidia = Setting.word("tidepool.opencl.nvidia", List.of("auto", "always"), notes);
    return new Settings(svm, shared.equals("auto"), nvidia.equals("always"));
  }

  /** Returns these settings without the features that a Tidepool's options disable. */
  Settings within(DeviceOptions options) {
    return new Settings(svm, sharedMemory && options.zeroCopyBuffers(), nvidia);
  }

  /** Returns the OpenCL library's file, if one is named. */
  static Optional<String> library() {
    return Setting.text("tidepool.opencl.library");
  }
}
