package dev.tidepool.cuda;

import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;

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
    REGISTERED_MEMORY,
    MANAGED_MEMORY,
    MEMORY_POOL,
    ADDRESS_RANGE,
    PHYSICAL_MEMORY,
    MAPPING,
    OPENED_MEMORY,
    MODULE
  }

  /**
   * Complete before it is read, and never written again. No map that locks: its monitor could
   * unmount a virtual thread between the push and the pop of a context, which belongs to the
   * carrier.
   */
  private static final Map<Kind, AtomicLong> COUNTS = new EnumMap<>(Kind.class);

  static {
    for (Kind kind : Kind.values()) {
      COUNTS.put(kind, new AtomicLong());
    }
  }

  private LiveObjects() {}

  static void created(Kind kind) {
    of(kind).incrementAndGet();
  }

  static void released(Kind kind) {
    of(kind).decrementAndGet();
  }

  static long count(Kind kind) {
    return of(kind).get();
  }

  private static AtomicLong of(Kind kind) {
    return Objects.requireNonNull(COUNTS.get(kind));
  }
}
