package dev.tidepool.opencl;

import java.util.concurrent.atomic.AtomicLongArray;

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
