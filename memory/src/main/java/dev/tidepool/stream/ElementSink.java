package dev.tidepool.stream;

import dev.tidepool.ElementType;
import java.lang.foreign.MemorySegment;

/** Receives the elements that a pipeline computes, on any thread, in any order of ranges. */
public interface ElementSink {
  /** Returns the type of the elements. */
  ElementType<?> elementType();

  /** Returns the number of elements. */
  long length();

  /**
   * Receives the elements that start at {@code elementOffset}. The segment is read-only and valid
   * during the call. Called by several threads at once. Each range is passed once, even if a
   * computation is repeated after a failure. Ranges begin at multiples of 1024.
   */
  void write(long elementOffset, MemorySegment source);
}
