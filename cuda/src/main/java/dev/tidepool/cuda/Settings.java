package dev.tidepool.cuda;

import dev.tidepool.ByteSize;
import dev.tidepool.spi.DeviceOptions;
import dev.tidepool.spi.support.Setting;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * The user's settings, from system properties or environment variables (see {@link Setting}).
 *
 * @param deviceMemory the source of device memory
 * @param managed whether managed memory may serve UNIFIED
 * @param mapping when device memory is mapped piece by piece
 * @param releaseThreshold how many freed bytes the driver's pool keeps
 * @param batches when copies of many pieces are one call of the driver
 */
record Settings(
    DeviceMemory.Origin deviceMemory,
    boolean managed,
    Mapping mapping,
    long releaseThreshold,
    StagedCopies.Batches batches) {
  /** When device memory is mapped piece by piece. */
  enum Mapping {
    /** If the driver's other way has no room. */
    AUTO,
    /** Whenever that wastes little. */
    ALWAYS,
    /** Never. */
    NONE
  }

  /** Reads the settings; a value that is not allowed is noted and ignored. */
  static Settings read(List<String> notes) {
    return new Settings(
        switch (Setting.word("tidepool.cuda.memory", List.of("auto", "current", "plain"), notes)) {
          case "plain" -> DeviceMemory.Origin.PLAIN;
          case "current" -> DeviceMemory.Origin.CURRENT_POOL;
          default -> DeviceMemory.Origin.OWN_POOL;
        },
        Setting.word("tidepool.cuda.managed", List.of("auto", "none"), notes).equals("auto"),
        Mapping.valueOf(
            Setting.word("tidepool.cuda.vmm", List.of("auto", "always", "none"), notes)
                .toUpperCase(Locale.ROOT)),
        bytes("tidepool.cuda.releaseThreshold", notes),
        StagedCopies.Batches.valueOf(
            Setting.word("tidepool.cuda.batches", List.of("auto", "always", "none"), notes)
                .toUpperCase(Locale.ROOT)));
  }

  /** Returns these settings without the features that a Tidepool's options disable. */
  Settings within(DeviceOptions options) {
    return new Settings(
        deviceMemory, managed && options.managedMemory(), mapping, releaseThreshold, batches);
  }

  /** Returns the driver library's file, if one is named. */
  static Optional<String> library() {
    return Setting.text("tidepool.cuda.library");
  }

  /** Returns NVRTC's file or its folder, if one is named. */
  static Optional<Path> nvrtc() {
    return Setting.text("tidepool.nvrtc").map(Path::of);
  }

  /** Returns the folder where compiled kernels are kept; {@code none} keeps none. */
  static Optional<String> cache() {
    return Setting.text("tidepool.cuda.cache");
  }

  private static long bytes(String property, List<String> notes) {
    Optional<String> set = Setting.text(property);
    try {
      return Math.max(0, set.map(ByteSize::parse).orElse(0L));
    } catch (IllegalArgumentException wrong) {
      notes.add(property + "=" + set.orElseThrow() + " is ignored: " + wrong.getMessage());
      return 0;
    }
  }
}
