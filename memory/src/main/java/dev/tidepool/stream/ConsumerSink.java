package dev.tidepool.stream;

import dev.tidepool.ElementType;
import java.lang.foreign.MemorySegment;

/**
 * Hands every chunk to a consumer, one at a time, in arrays of its own.
 *
 * @param <A> the array that carries elements
 */
final class ConsumerSink<A> implements ElementSink {
  private final ElementType<A> type;
  private final long length;
  private final ChunkConsumer<? super A> consumer;

  ConsumerSink(ElementType<A> type, long length, ChunkConsumer<? super A> consumer) {
    this.type = type;
    this.length = length;
    this.consumer = consumer;
  }

  @Override
  public ElementType<?> elementType() {
    return type;
  }

  @Override
  public long length() {
    return length;
  }

  @Override
  public void write(long elementOffset, MemorySegment source) {
    int count = Math.toIntExact(type.elements(source.byteSize()));
    A elements = type.newArray(count);
    type.read(source, 0, elements, 0, count);
    // The consumer is the caller's: its own lock, which nothing else of the library ever takes.
    synchronized (consumer) {
      consumer.accept(elementOffset, elements);
    }
  }
}
