package dev.tidepool.cuda;

import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * What a user may set: system properties, or environment variables of the same name in capitals
 * with underscores ({@code tidepool.cuda.managed} is {@code TIDEPOOL_CUDA_MANAGED}).
 *
 * @param streamOrdered whether device memory may come from a stream-ordered pool of the driver
 * @param managed whether managed memory may serve UNIFIED
 * @param mapping when device memory is mapped piece by piece
 * @param releaseThreshold bytes that the driver's pool keeps when they are freed
 */
record Settings(boolean streamOrdered, boolean managed, Mapping mapping, long releaseThreshold) {
  /** When device memory is mapped piece by piece. */
  enum Mapping {
    /** Where the driver's other way has no room. */
    AUTO,
    /** Wherever that wastes little. */
    ALWAYS,
    /** Never. */
    NONE
  }

  /** Reads the settings; a value that is none of those allowed is noted and left aside. */
  static Settings read(List<String> notes) {
    return new Settings(
        word("tidepool.cuda.memory", List.of("auto", "plain"), notes).equals("auto"),
        word("tidepool.cuda.managed", List.of("auto", "none"), notes).equals("auto"),
        Mapping.valueOf(
            word("tidepool.cuda.vmm", List.of("auto", "always", "none"), notes)
                .toUpperCase(Locale.ROOT)),
        bytes("tidepool.cuda.releaseThreshold", notes));
  }

  /** The driver library's file, when one is named. */
  static Optional<String> library() {
    return value("tidepool.cuda.library");
  }

  /** NVRTC's file or the folder that it is in, when one is named. */
  static Optional<Path> nvrtc() {
    return value("tidepool.nvrtc").map(Path::of);
  }

  /** Where compiled kernels are kept; {@code none} keeps none. */
  static Optional<String> cache() {
    return value("tidepool.cuda.cache");
  }

  private static Optional<String> value(String property) {
    String set = System.getProperty(property);
    if (set == null) {
      set = System.getenv(property.replace('.', '_').toUpperCase(Locale.ROOT));
    }
    return Optional.ofNullable(set).map(String::strip).filter(text -> !text.isEmpty());
  }

  private static String word(String property, List<String> allowed, List<String> notes) {
    String word = value(property).orElse("auto").toLowerCase(Locale.ROOT);
    if (allowed.contains(word)) {
      return word;
    }
    notes.add(
        property + "=" + word + " is ignored: it may be " + String.join(", ", allowed) + " only");
    return "auto";
  }

  private static long bytes(String property, List<String> notes) {
    Optional<String> set = value(property);
    try {
      return Math.max(0, set.map(dev.tidepool.ByteSize::parse).orElse(0L));
    } catch (IllegalArgumentException wrong) {
      notes.add(property + "=" + set.orElseThrow() + " is ignored: " + wrong.getMessage());
      return 0;
    }
  }
}
