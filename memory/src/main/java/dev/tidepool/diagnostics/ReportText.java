package dev.tidepool.diagnostics;

import java.time.Duration;
import java.util.HexFormat;
import java.util.Locale;
import java.util.regex.Pattern;

/** Formats parts of diagnostic reports. */
final class ReportText {
  private static final Pattern CONTROL =
      Pattern.compile("[\\p{Cc}\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]");

  private ReportText() {}

  /**
   * Returns a tag with its control characters escaped, so that it cannot forge a line of a log or
   * control a terminal.
   */
  static String visible(String tag) {
    return CONTROL
        .matcher(tag)
        .replaceAll(found -> "\\\\u" + HexFormat.of().toHexDigits(found.group().charAt(0)));
  }

  /**
   * Returns the end of a report, such as {@code 1.5 s before, at} and the frames of the site, if it
   * is known.
   */
  static String origin(Duration age, String site) {
    return String.format(Locale.ROOT, "%.1f s before", age.toNanos() / 1e9)
        + (site.isEmpty() ? "" : ", at\n    " + site.replace("\n", "\n    "));
  }
}
