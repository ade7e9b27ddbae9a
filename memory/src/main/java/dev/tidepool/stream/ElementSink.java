package dev.tidepool.stream;

import dev.tidepool.ElementType;
import java.lang.foreign.MemorySegment;

/** Takes the elements that a pipeline computes, from any thread, in any order of ranges. */
public interface ElementSink {
  /** Returns what one element is. */
  ElementType<?> elementType();

  /** Number of elements. */
  long length();

  /**
   * Takes the elements from {@code elementOffset} on; the segment is read-only and valid for the
   * time of the call. Called by several threads at once; every range comes once, whatever fails on
   * its way to the sinks. Ranges begin at multiples of 1024.
   */
  void write(long elementOffset, MemorySegment source);
}
