package dev.tidepool.metal;

import dev.tidepool.spi.support.Setting;
import java.util.List;
import java.util.Optional;

/**
 * The user's settings, from system properties or environment variables (see {@link Setting}).
 *
 * @param storage where device memory is allocated
 */
record Settings(Storage storage) {
  /** Where device memory is allocated. */
  enum Storage {
    /** Shared if host and device have one memory, otherwise private. */
    AUTO,
    /** In memory that the host can access, too. */
    SHARED,
    /** In memory that only the device can access. */
    PRIVATE
  }

  /** Reads the settings; a value that is not allowed is noted and ignored. */
  static Settings read(List<String> notes) {
    return new Settings(
        switch (Setting.word(
            "tidepool.metal.storage", List.of("auto", "shared", "private"), notes)) {
          case "shared" -> Storage.SHARED;
          case "private" -> Storage.PRIVATE;
          default -> Storage.AUTO;
        });
  }

  /** Returns the file with all functions, if one is named. */
  static Optional<String> library() {
    return Setting.text("tidepool.metal.library");
  }
}
