package dev.tidepool.expression.types;

import java.util.Map;
import java.util.Objects;

/** Reads maps that contain every requested key. */
public final class Known {
  private Known() {}

  /** Returns the value of a key that the map contains. */
  public static <K, V> V in(Map<K, V> map, K key) {
    return Objects.requireNonNull(map.get(key), () -> "nothing was noted for " + key);
  }
}
