package dev.tidepool.stream.pipeline;

import dev.tidepool.ElementType;
import dev.tidepool.stream.reduction.RangeConsumer;
import java.lang.foreign.MemorySegment;

/**
 * A reduction, or a part of another sink, as a sink.
 *
 * @param length the number of elements
 */
public record RangeSink(ElementType<?> elementType, long length, RangeConsumer ranges)
    implements Sink {
  @Override
  public void write(long elementOffset, MemorySegment source) {
    ranges.write(elementOffset, source);
  }
}
