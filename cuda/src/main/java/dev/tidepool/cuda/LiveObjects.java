package dev.tidepool.cuda;

import java.util.concurrent.atomic.AtomicLongArray;

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

  /**
   * No map: its monitor could unmount a virtual thread between the push and the pop of a context,
   * which belongs to the carrier.
   */
  private static final AtomicLongArray COUNTS = new AtomicLongArray(Kind.values().length);

  private LiveObjects() {}

  static void created(Kind kind) {
    COUNTS.incrementAndGet(kind.ordinal());
  }

  static void released(Kind kind) {
    COUNTS.decrementAndGet(kind.ordinal());
  }

  static long count(Kind kind) {
    return COUNTS.get(kind.ordinal());
  }
}
