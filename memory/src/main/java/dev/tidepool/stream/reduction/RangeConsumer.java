package dev.tidepool.stream.reduction;

import java.lang.foreign.MemorySegment;

/** Takes ranges of elements, from several threads at once, each range once. */
@FunctionalInterface
public interface RangeConsumer {
  /** Takes the elements from {@code elementOffset} on. The segment is valid during the call. */
  void write(long elementOffset, MemorySegment elements);
}
