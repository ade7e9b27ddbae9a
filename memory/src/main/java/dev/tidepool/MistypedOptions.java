package dev.tidepool;

import java.lang.System.Logger.Level;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Warns about system properties and environment variables that look like an option with a typing
 * error, because they have no effect. It is not an error, because other programs may use the
 * prefix. Each name causes one warning in a process.
 */
final class MistypedOptions {
  private static final System.Logger LOG = System.getLogger("dev.tidepool");
  private static final String PROPERTY_PREFIX = "tidepool.";
  private static final String VARIABLE_PREFIX = "TIDEPOOL_";

  private static final Set<String> TOLD = ConcurrentHashMap.newKeySet();

  private MistypedOptions() {}

  /** Warns about names that look like a mistyped option. */
  static void warn(Set<String> properties, Set<String> variables) {
    for (String name : properties) {
      if (name.startsWith(PROPERTY_PREFIX)) {
        MemoryOption<?> meant = meant(name.substring(PROPERTY_PREFIX.length()));
        if (meant != null) {
          warn("system property " + name, meant.property());
        }
      }
    }
    for (String name : variables) {
      if (name.startsWith(VARIABLE_PREFIX)) {
        String key = name.substring(VARIABLE_PREFIX.length()).replace('_', '-');
        MemoryOption<?> meant = meant(key.toLowerCase(Locale.ROOT));
        if (meant != null) {
          warn("environment variable " + name, meant.environmentVariable());
        }
      }
    }
  }

  private static void warn(String name, String meant) {
    if (TOLD.add(name)) {
      LOG.log(Level.WARNING, "no option has the name of the " + name + "; is " + meant + " meant?");
    }
  }

  /**
   * Returns the option that an unknown key may stand for, with at most one wrong character in
   * three; null if there is none. A key with a dot is a setting of a backend or of a test. A key
   * that differs only in dashes and capitals is a spelling that Spring Boot accepts.
   */
  private static @Nullable MemoryOption<?> meant(String key) {
    if (key.indexOf('.') >= 0) {
      return null;
    }
    MemoryOption<?> nearest = MemoryOption.nearest(key);
    if (nearest.key().replace("-", "").equalsIgnoreCase(key.replace("-", ""))) {
      return null;
    }
    int distance = MemoryOption.distance(nearest.key(), key);
    return distance <= nearest.key().length() / 3 ? nearest : null;
  }
}
