package dev.tidepool.spi.support;

import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * Reads settings of a backend: a system property, or an environment variable of the same name in
 * capitals with underscores ({@code tidepool.opencl.svm} is {@code TIDEPOOL_OPENCL_SVM}).
 */
public final class Setting {
  private Setting() {}

  /** Returns the text of a setting, without surrounding blanks; empty if it is not set. */
  public static Optional<String> text(String property) {
    String set = System.getProperty(property);
    if (set == null) {
      set = System.getenv(property.replace('.', '_').toUpperCase(Locale.ROOT));
    }
    return Optional.ofNullable(set).map(String::strip).filter(text -> !text.isEmpty());
  }

  /**
   * Returns a setting in lower case; {@code auto} if it is not set, or if it is not an allowed
   * word.
   *
   * @param notes receives a line about a word that is not allowed
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
