package dev.tidepool.stream;

import dev.tidepool.ElementType;
import java.lang.foreign.MemorySegment;

/**
 * A Java array as a source or a sink.
 *
 * @param <A> the array that carries elements
 */
record ArrayEndpoint<A>(ElementType<A> type, A array) implements ElementSource, ElementSink {
  @Override
  public ElementType<A> elementType() {
    return type;
  }

  @Override
  public long length() {
    return type.length(array);
  }

  @Override
  public void read(long elementOffset, MemorySegment destination) {
    int count = Math.toIntExact(type.elements(destination.byteSize()));
    type.write(array, Math.toIntExact(elementOffset), destination, 0, count);
  }

  @Override
  public void write(long elementOffset, MemorySegment source) {
    int count = Math.toIntExact(type.elements(source.byteSize()));
    type.read(source, 0, array, Math.toIntExact(elementOffset), count);
  }
}
