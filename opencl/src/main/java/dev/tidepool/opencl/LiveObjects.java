package dev.tidepool.opencl;

import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Counts the OpenCL objects that exist, by kind: what is not zero after everything was closed is a
 * leak. Two atomic additions for each object are nothing beside the driver call that makes it.
 */
final class LiveObjects {

  /** The kinds of objects that OpenCL counts references of, and shared virtual memory. */
  enum Kind {
    CONTEXT,
    QUEUE,
    MEMORY,
    SHARED_VIRTUAL_MEMORY,
    EVENT,
    PROGRAM,
    KERNEL
  }

  // Never changed after this, so that reading it needs no lock.
  private static final Map<Kind, AtomicLong> COUNTS = new EnumMap<>(Kind.class);

  static {
    for (Kind kind : Kind.values()) {
      COUNTS.put(kind, new AtomicLong());
    }
  }

  private LiveObjects() {}

  static void created(Kind kind) {
    live(kind).incrementAndGet();
  }

  static void released(Kind kind) {
    live(kind).decrementAndGet();
  }

  static long count(Kind kind) {
    return live(kind).get();
  }

  private static AtomicLong live(Kind kind) {
    return Objects.requireNonNull(COUNTS.get(kind));
  }
}
