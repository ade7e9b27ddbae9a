package dev.tidepool.expression.types;

import java.util.Map;
import java.util.Objects;

/** Reads maps that were filled for every key that is asked for. */
public final class Known {
  private Known() {}

  /** The value of a key that the map surely has. */
  public static <K, V> V in(Map<K, V> map, K key) {
    return Objects.requireNonNull(map.get(key), () -> "nothing was noted for " + key);
  }
}
