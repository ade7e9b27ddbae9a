package dev.tidepool;

import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Records kept as a struct of arrays: one buffer for each component, so that a kernel which reads
 * one component reads its bytes alone, next to each other. Made by {@link
 * UnifiedMemoryManager#allocateStructOfArrays}.
 *
 * {@snippet :
 * record Particle(float x, float velocity) {}
 *
 * Particle[] particles = {new Particle(0, 1), new Particle(5, -1)};
 * try (StructOfArrays<Particle> all =
 *     memory.allocateStructOfArrays(Particle.class, particles.length)) {
 *   all.copyFrom(particles);
 *   Kernel move = memory.compile(KernelSource.elementwise("x = x + v * dt"));
 *   move.execute(
 *       Arguments.of(
 *           "dt", 0.01f,
 *           "x", all.component("x", ElementType.FLOAT),
 *           "v", all.component("velocity", ElementType.FLOAT)));
 *   all.copyTo(particles);
 * }
 * }
 *
 * <p>Components of nested records have buffers of their own; their names have dots: {@code
 * position.x}. The buffers are buffers like any other: kernels take them as arguments, and each has
 * its own place, state and order.
 *
 * <p>A conversion is one piece of work in the order of all buffers that take part: no other work
 * sees half of it. It reads and writes the newest side of each buffer and makes no second copy, as
 * {@link UnifiedBuffer#copyFrom(UnifiedBuffer)} does. Offsets, counts and lengths are in records.
 *
 * <p>Thread-safe. Every method of a closed one but {@link #close()} throws {@link
 * IllegalStateException}.
 *
 * @param <R> the record
 */
public interface StructOfArrays<R extends Record> extends AutoCloseable {
  /** Returns the type of the records, as structs. */
  ElementType<R[]> structType();

  /** Number of records. */
  long length();

  /** Bytes of all components together; there is no padding. */
  long byteSize();

  /** The accelerator that the buffers' device copies are on. */
  Accelerator accelerator();

  /** Returns the names of the components, in the order of the record. */
  List<String> names();

  /**
   * Returns the buffer of a component. It closes with this.
   *
   * @param type of the component, or the unsigned type of its width, which kernels then see
   * @throws IllegalArgumentException if there is no component of that name, or it has another type
   */
  <A> UnifiedBuffer<A> component(String name, ElementType<A> type);

  /** Takes the records of a whole array to the front; a longer one is out of bounds. */
  void copyFrom(R[] source);

  /** Takes a range of an array to {@code offset}. */
  void copyFrom(R[] source, int sourceOffset, long offset, int count);

  /** Writes all records to the front of an array; a shorter one is out of bounds. */
  void copyTo(R[] destination);

  /** Writes {@code count} records from {@code offset} on to a range of an array. */
  void copyTo(long offset, R[] destination, int destinationOffset, int count);

  /**
   * Takes all structs of a buffer, of any accelerator, to the front.
   *
   * @throws IndexOutOfBoundsException if there are more than {@link #length()}
   * @throws IllegalArgumentException if the buffer shares bytes with a component
   */
  void copyFrom(UnifiedBuffer<R[]> source);

  /**
   * Writes all records as structs to the front of a buffer, of any accelerator. Padding is left as
   * it is, or becomes zero.
   *
   * @throws IndexOutOfBoundsException if the buffer is shorter
   * @throws IllegalArgumentException if the buffer shares bytes with a component
   */
  void copyTo(UnifiedBuffer<R[]> destination);

  /** {@link #copyFrom(Record[])} in the background; leave the array alone until it is done. */
  CompletableFuture<Void> copyFromAsync(R[] source);

  /** {@link #copyTo(Record[])} in the background; leave the array alone until it is done. */
  CompletableFuture<Void> copyToAsync(R[] destination);

  /** {@link #copyFrom(UnifiedBuffer)} in the background. */
  CompletableFuture<Void> copyFromAsync(UnifiedBuffer<R[]> source);

  /** {@link #copyTo(UnifiedBuffer)} in the background. */
  CompletableFuture<Void> copyToAsync(UnifiedBuffer<R[]> destination);

  /** Closes the buffers of all components. Idempotent; waits for nothing. */
  @Override
  void close();
}
