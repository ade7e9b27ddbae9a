package dev.tidepool.spi.support;

import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * Reads what a user may set for a backend: a system property, or an environment variable of the
 * same name in capitals with underscores ({@code tidepool.opencl.svm} is {@code
 * TIDEPOOL_OPENCL_SVM}).
 */
public final class Setting {
  private Setting() {}

  /** Returns the text of a setting, without blanks around it; empty if it is not set. */
  public static Optional<String> text(String property) {
    String set = System.getProperty(property);
    if (set == null) {
      set = System.getenv(property.replace('.', '_').toUpperCase(Locale.ROOT));
    }
    return Optional.ofNullable(set).map(String::strip).filter(text -> !text.isEmpty());
  }

  /**
   * Returns a word in lower case; {@code auto} if nothing is set, or if a word is set that is not
   * allowed. The latter is noted.
   *
   * @param notes takes a line about a word that is not allowed
   */
  public static String word(String property, List<String> allowed, List<String> notes) {
    String word = text(property).orElse("auto").toLowerCase(Locale.ROOT);
    if (allowed.contains(word)) {
      return word;
    }
    notes.add(
        property + "=" + word + " is ignored: it may be " + String.join(", ", allowed) + " only");
    return "auto";
  }
}
