package dev.tidepool.stream;

import dev.tidepool.ElementType;
import java.lang.foreign.MemorySegment;

/** Elements that a pipeline reads, by any thread, in any order of ranges. */
public interface ElementSource {
  /** What one element is. */
  ElementType<?> elementType();

  /** Number of elements. */
  long length();

  /**
   * Fills a segment with the elements from {@code elementOffset} on, in the platform's byte order.
   * Called by several threads at once.
   */
  void read(long elementOffset, MemorySegment destination);
}
