package dev.tidepool.opencl;

import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * What a user may set for drivers that are in an unusual place or claim more than they can: system
 * properties, or environment variables of the same name in capitals with underscores ({@code
 * tidepool.opencl.svm} is {@code TIDEPOOL_OPENCL_SVM}).
 *
 * @param svm which shared virtual memory to use
 * @param sharedMemory whether a device may be treated as one that shares the host's memory; when
 *     not, its memory is reached by transfers alone, as a graphics card's is
 */
record Settings(Svm svm, boolean sharedMemory) {

  /** The finest shared virtual memory that the device has, one kind of it only, or none. */
  enum Svm {
    AUTO,
    FINE,
    COARSE,
    NONE
  }

  /** Reads the settings; a value that is none of those allowed is noted and left aside. */
  static Settings read(List<String> notes) {
    Svm svm =
        switch (word("tidepool.opencl.svm", List.of("auto", "fine", "coarse", "none"), notes)) {
          case "fine" -> Svm.FINE;
          case "coarse" -> Svm.COARSE;
          case "none" -> Svm.NONE;
          default -> Svm.AUTO;
        };
    String shared = word("tidepool.opencl.sharedMemory", List.of("auto", "false"), notes);
    return new Settings(svm, shared.equals("auto"));
  }

  /** The OpenCL library's file, when one is named. */
  static Optional<String> library() {
    return value("tidepool.opencl.library");
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
}
