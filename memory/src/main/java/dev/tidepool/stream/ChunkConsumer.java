package dev.tidepool.stream;

/**
 * Receives results chunk by chunk: one at a time, on any thread, in no particular order.
 *
 * @param <A> the Java array that carries elements
 */
@FunctionalInterface
public interface ChunkConsumer<A> {
  /**
   * Receives a chunk. An exception stops the pipeline.
   *
   * @param elementOffset the index of the chunk's first element among all
   * @param elements the elements, in a new array that the consumer may keep
   */
  void accept(long elementOffset, A elements);
}
