package dev.tidepool;

import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Records stored as a struct of arrays: one buffer for each component. A kernel that reads one
 * component then reads contiguous bytes. Created by {@link
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
 * <p>Components of nested records have their own buffers, whose names have dots: {@code
 * position.x}. The buffers are ordinary ones: kernels take them as arguments, and each has its own
 * location, state and order of operations.
 *
 * <p>A conversion is one operation in the order of all its buffers: no other operation sees half of
 * it. It reads and writes the newest copy of each buffer and creates no second copy, as {@link
 * UnifiedBuffer#copyFrom(UnifiedBuffer)} does. Offsets, counts and lengths are in records.
 *
 * <p>Thread-safe. Every method of a closed object except {@link #close()} throws {@link
 * IllegalStateException}.
 *
 * @param <R> the record type
 */
public interface StructOfArrays<R extends Record> extends AutoCloseable {
  /** Returns the type of the records, as structs. */
  ElementType<R[]> structType();

  /** Returns the number of records. */
  long length();

  /** Returns the bytes of all components together, which have no padding. */
  long byteSize();

  /** Returns the accelerator that has the buffers' device copies. */
  Accelerator accelerator();

  /** Returns the names of the components, in the order of the record. */
  List<String> names();

  /**
   * Returns the buffer of a component. It is closed with this object.
   *
   * @param type the type of the component, or the unsigned type of the same width, which kernels
   *     then use
   * @throws IllegalArgumentException if there is no component of that name, or it has another type
   */
  <A> UnifiedBuffer<A> component(String name, ElementType<A> type);

  /**
   * Copies a whole array to the front.
   *
   * @throws IndexOutOfBoundsException if the array is longer than {@link #length()}
   */
  void copyFrom(R[] source);

  /** Copies a range of an array to {@code offset}. */
  void copyFrom(R[] source, int sourceOffset, long offset, int count);

  /**
   * Copies all records to the front of an array.
   *
   * @throws IndexOutOfBoundsException if the array is shorter
   */
  void copyTo(R[] destination);

  /** Copies {@code count} records, starting at {@code offset}, to a range of an array. */
  void copyTo(long offset, R[] destination, int destinationOffset, int count);

  /**
   * Copies all structs of a buffer, of any accelerator, to the front.
   *
   * @throws IndexOutOfBoundsException if there are more than {@link #length()}
   * @throws IllegalArgumentException if the buffer shares bytes with a component
   */
  void copyFrom(UnifiedBuffer<R[]> source);

  /**
   * Copies all records as structs to the front of a buffer, of any accelerator. Padding is
   * unchanged or becomes zero.
   *
   * @throws IndexOutOfBoundsException if the buffer is shorter
   * @throws IllegalArgumentException if the buffer shares bytes with a component
   */
  void copyTo(UnifiedBuffer<R[]> destination);

  /**
   * Like {@link #copyFrom(Record[])}, in the background. Do not change the array until the future
   * has completed.
   */
  CompletableFuture<Void> copyFromAsync(R[] source);

  /**
   * Like {@link #copyTo(Record[])}, in the background. Do not use the array until the future has
   * completed.
   */
  CompletableFuture<Void> copyToAsync(R[] destination);

  /** Like {@link #copyFrom(UnifiedBuffer)}, in the background. */
  CompletableFuture<Void> copyFromAsync(UnifiedBuffer<R[]> source);

  /** Like {@link #copyTo(UnifiedBuffer)}, in the background. */
  CompletableFuture<Void> copyToAsync(UnifiedBuffer<R[]> destination);

  /** Closes the buffers of all components. Idempotent; waits for nothing. */
  @Override
  void close();
}
