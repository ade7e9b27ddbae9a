package dev.tidepool.spi.support;

import java.lang.foreign.MemorySegment;

/** Checks which threads may access a segment. */
public final class SegmentAccess {
  /** A thread that is never the caller; never started. */
  private static final Thread OTHER_THREAD = Thread.ofPlatform().unstarted(() -> {});

  private SegmentAccess() {}

  /** Returns whether threads other than the caller may access a segment. */
  public static boolean isForAllThreads(MemorySegment segment) {
    return segment.isAccessibleBy(OTHER_THREAD);
  }
}
