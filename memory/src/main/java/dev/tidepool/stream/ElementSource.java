package dev.tidepool.stream;

import dev.tidepool.ElementType;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.lang.foreign.MemorySegment;

/** Elements that a pipeline reads, on any thread, in any order of ranges. */
public interface ElementSource {
  /** Returns the type of the elements. */
  ElementType<?> elementType();

  /** Returns the number of elements. */
  long length();

  /**
   * Fills a segment with the elements that start at {@code elementOffset}, in the platform's byte
   * order. Called by several threads at once.
   */
  void read(long elementOffset, MemorySegment destination);

  /**
   * Fills a buffer on its accelerator, if that is cheaper than {@link #read} and a transfer, for
   * example if the source is compressed or is a buffer. Called by several threads at once.
   *
   * @param memory the buffer's manager
   * @return false if it is not cheaper, or not possible; the caller then calls {@link #read}
   */
  default boolean load(
      long elementOffset, UnifiedBuffer<?> destination, UnifiedMemoryManager memory) {
    return false;
  }
}
