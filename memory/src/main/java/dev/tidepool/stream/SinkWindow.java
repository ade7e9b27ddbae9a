package dev.tidepool.stream;

import dev.tidepool.ElementType;
import java.lang.foreign.MemorySegment;

/**
 * A range of a sink, as a sink.
 *
 * @param from the first element of it; a multiple of 1024, like the ranges that sinks get
 * @param length elements
 */
record SinkWindow(ElementSink sink, long from, long length) implements ElementSink {
  @Override
  public ElementType<?> elementType() {
    return sink.elementType();
  }

  @Override
  public void write(long elementOffset, MemorySegment source) {
    sink.write(from + elementOffset, source);
  }
}
