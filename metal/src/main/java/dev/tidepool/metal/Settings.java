package dev.tidepool.metal;

import dev.tidepool.spi.support.Setting;
import java.util.List;
import java.util.Optional;

/**
 * What a user may set, by system properties or environment variables (see {@link Setting}).
 *
 * @param storage where device memory lies
 */
record Settings(Storage storage) {
  /** Where device memory lies. */
  enum Storage {
    /** Shared where host and device have one memory, otherwise private. */
    AUTO,
    /** In memory that the host reaches too. */
    SHARED,
    /** In memory that only the device reaches. */
    PRIVATE
  }

  /** Reads the settings; a value that is none of those allowed is noted and left aside. */
  static Settings read(List<String> notes) {
    return new Settings(
        switch (Setting.word(
            "tidepool.metal.storage", List.of("auto", "shared", "private"), notes)) {
          case "shared" -> Storage.SHARED;
          case "private" -> Storage.PRIVATE;
          default -> Storage.AUTO;
        });
  }

  /** Returns the file that has all functions, when one is named. */
  static Optional<String> library() {
    return Setting.text("tidepool.metal.library");
  }
}
