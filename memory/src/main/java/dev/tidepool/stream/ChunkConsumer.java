package dev.tidepool.stream;

/**
 * Takes results chunk by chunk: one at a time, from any thread, in no particular order.
 *
 * @param <A> the array that carries elements
 */
@FunctionalInterface
public interface ChunkConsumer<A> {
  /**
   * Takes a chunk. What it throws ends the pipeline.
   *
   * @param elementOffset where its first element stands among all
   * @param elements the consumer's own
   */
  void accept(long elementOffset, A elements);
}
