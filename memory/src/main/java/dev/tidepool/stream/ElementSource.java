package dev.tidepool.stream;

import dev.tidepool.ElementType;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.lang.foreign.MemorySegment;

/** Elements that a pipeline reads, by any thread, in any order of ranges. */
public interface ElementSource {
  /** Returns what one element is. */
  ElementType<?> elementType();

  /** Number of elements. */
  long length();

  /**
   * Fills a segment with the elements from {@code elementOffset} on, in the platform's byte order.
   * Called by several threads at once.
   */
  void read(long elementOffset, MemorySegment destination);

  /**
   * Fills a buffer on its accelerator, where that is cheaper than {@link #read} and a transfer, as
   * it may be for a source that is compressed, or is a buffer itself. Called by several threads at
   * once.
   *
   * @param memory the buffer's manager
   * @return false if it is not cheaper, or cannot be done: {@link #read} then
   */
  default boolean load(
      long elementOffset, UnifiedBuffer<?> destination, UnifiedMemoryManager memory) {
    return false;
  }
}
