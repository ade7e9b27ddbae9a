package dev.tidepool.stream;

import dev.tidepool.ElementType;
import java.lang.foreign.MemorySegment;

/**
 * Hands every chunk to a consumer, one at a time, in arrays of its own.
 *
 * @param <A> the array that carries elements
 */
record ConsumerSink<A>(ElementType<A> elementType, long length, ChunkConsumer<? super A> consumer)
    implements ElementSink {
  @Override
  public void write(long elementOffset, MemorySegment source) {
    int count = Math.toIntExact(elementType.elements(source.byteSize()));
    A elements = elementType.newArray(count);
    elementType.read(source, 0, elements, 0, count);
    // The consumer is the caller's: its own lock, which nothing else of the library ever takes.
    synchronized (consumer) {
      consumer.accept(elementOffset, elements);
    }
  }
}
