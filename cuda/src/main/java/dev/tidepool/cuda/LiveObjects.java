package dev.tidepool.cuda;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Counts the driver's objects that exist, by kind: what is not zero after everything was closed is
 * a leak.
 */
final class LiveObjects {
  /** What the driver makes and expects back. */
  enum Kind {
    CONTEXT,
    STREAM,
    EVENT,
    DEVICE_MEMORY,
    PINNED_MEMORY,
    MANAGED_MEMORY,
    MEMORY_POOL,
    MODULE
  }

  private static final Map<Kind, Long> COUNTS = new ConcurrentHashMap<>();

  private LiveObjects() {}

  static void created(Kind kind) {
    COUNTS.merge(kind, 1L, Long::sum);
  }

  static void released(Kind kind) {
    COUNTS.merge(kind, -1L, Long::sum);
  }

  static long count(Kind kind) {
    return COUNTS.getOrDefault(kind, 0L);
  }
}
