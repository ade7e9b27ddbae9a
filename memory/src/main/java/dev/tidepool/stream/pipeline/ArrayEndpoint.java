package dev.tidepool.stream.pipeline;

import dev.tidepool.ElementType;
import dev.tidepool.runtime.buffer.MemoryRange;
import java.lang.foreign.MemorySegment;

/**
 * A Java array as a source or a sink.
 *
 * @param <A> the array that carries elements
 */
public record ArrayEndpoint<A>(ElementType<A> elementType, A array) implements Source, Sink {
  @Override
  public long length() {
    return elementType.length(array);
  }

  @Override
  public void read(long elementOffset, MemorySegment destination) {
    int count = Math.toIntExact(elementType.elements(destination.byteSize()));
    elementType.write(array, Math.toIntExact(elementOffset), destination, 0, count);
  }

  @Override
  public void write(long elementOffset, MemorySegment source) {
    int count = Math.toIntExact(elementType.elements(source.byteSize()));
    elementType.read(source, 0, array, Math.toIntExact(elementOffset), count);
  }

  @Override
  public MemoryRange bytes() {
    return MemoryRange.ofArray(elementType, array);
  }
}
