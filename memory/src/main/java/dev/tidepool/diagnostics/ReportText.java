package dev.tidepool.diagnostics;

import java.time.Duration;
import java.util.Locale;

/** How diagnostic reports end: how long ago it was, and where. */
final class ReportText {
  private ReportText() {}

  /** Such as {@code 1.5 s before, at} and the frames of the site, if that is known. */
  static String origin(Duration age, String site) {
    return String.format(Locale.ROOT, "%.1f s before", age.toNanos() / 1e9)
        + (site.isEmpty() ? "" : ", at\n    " + site.replace("\n", "\n    "));
  }
}
