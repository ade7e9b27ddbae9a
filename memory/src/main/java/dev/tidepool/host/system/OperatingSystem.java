package dev.tidepool.host.system;

import java.util.Locale;

/** The operating systems that the library distinguishes. */
public enum OperatingSystem {
  LINUX,
  MACOS,
  WINDOWS,
  /** Any other system. Nothing is assumed about it. */
  OTHER;

  /** Returns the system with this value of the Java property {@code os.name}. */
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
