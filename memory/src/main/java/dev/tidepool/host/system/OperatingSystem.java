package dev.tidepool.host.system;

import java.util.Locale;

/** The operating systems that the library tells apart. */
public enum OperatingSystem {
  LINUX,
  MACOS,
  WINDOWS,
  /** Any other: nothing is assumed about it. */
  OTHER;

  /** Returns the system that Java calls by a name, which is its property {@code os.name}. */
  static OperatingSystem named(String name) {
    String lower = name.toLowerCase(Locale.ROOT);
    if (lower.startsWith("linux")) {
      return LINUX;
    }
    if (lower.startsWith("mac")) {
      return MACOS;
    }
    return lower.startsWith("windows") ? WINDOWS : OTHER;
  }
}
