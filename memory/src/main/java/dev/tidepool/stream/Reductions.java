package dev.tidepool.stream;

import dev.tidepool.UnifiedBuffer;
import dev.tidepool.expression.syntax.Reduction.Kind;
import dev.tidepool.runtime.threads.BackgroundWork;
import dev.tidepool.stream.reduction.BufferReduction;
import dev.tidepool.stream.reduction.RowReduction;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/**
 * Sums, means, least and greatest elements of buffers, with NumPy's meaning.
 *
 * <pre>{@code
 * try (UnifiedBuffer<float[]> scores = memory.copyOf(new float[] {1, 4, 2, 8, 5, 7})) {
 *   Number sum = dev.tidepool.stream.Reductions.sum(scores); // 27.0f
 *   long best = dev.tidepool.stream.Reductions.argMax(scores); // 3
 *   long[] bestOfEachRow = dev.tidepool.stream.Reductions.argMax(scores, 2, 3); // 1, 0
 * }
 * }</pre>
 *
 * <p>A float that is not a number makes the result not a number, and is the one that {@code argMin}
 * and {@code argMax} find. Sums of floats are pairwise in double, in an order that the positions
 * decide: the result is the same to the last bit on every accelerator, and that of a pipeline's
 * {@code sum(x)}. Sums of integers wrap around at 64 bits. Truth values count as 0 and 1.
 *
 * <p>The bytes are read where the newest ones are, once and in chunks, without a second copy of the
 * buffer, and all processors fold them. From an accelerator with memory of its own they travel to
 * the host. The methods return when they are done. If another thread writes to the buffer
 * meanwhile, the result is of old and new elements.
 *
 * <p>With rows and columns, a buffer is taken as a matrix whose rows lie one after another, and the
 * result has an element for each row.
 */
public final class Reductions {
  private Reductions() {}

  /**
   * Returns the sum: a {@link Float} or {@link Double} of floats, a {@link java.math.BigInteger} of
   * unsigned integers, else a {@link Long}; 0 if there are no elements.
   *
   * @throws IllegalArgumentException if the elements are records
   */
  public static Number sum(UnifiedBuffer<?> buffer) {
    return BufferReduction.fold(buffer, Kind.SUM);
  }

  /**
   * Returns the mean: a {@link Float} of 32-bit floats, else a {@link Double}; not-a-number if
   * there are no elements.
   *
   * @throws IllegalArgumentException if the elements are records
   */
  public static Number mean(UnifiedBuffer<?> buffer) {
    return BufferReduction.fold(buffer, Kind.MEAN);
  }

  /**
   * Returns the least element: a {@link Float} or {@link Double} of floats, a {@link
   * java.math.BigInteger} of unsigned 64-bit integers, else a {@link Long}.
   *
   * @throws IllegalArgumentException if there are no elements, or they are records
   */
  public static Number min(UnifiedBuffer<?> buffer) {
    return BufferReduction.fold(buffer, Kind.MIN);
  }

  /**
   * Returns the greatest element, boxed as {@link #min(UnifiedBuffer)} does.
   *
   * @throws IllegalArgumentException if there are no elements, or they are records
   */
  public static Number max(UnifiedBuffer<?> buffer) {
    return BufferReduction.fold(buffer, Kind.MAX);
  }

  /**
   * Returns the index of the first least element.
   *
   * @throws IllegalArgumentException if there are no elements, or they are records
   */
  public static long argMin(UnifiedBuffer<?> buffer) {
    return BufferReduction.find(buffer, false);
  }

  /**
   * Returns the index of the first greatest element.
   *
   * @throws IllegalArgumentException if there are no elements, or they are records
   */
  public static long argMax(UnifiedBuffer<?> buffer) {
    return BufferReduction.find(buffer, true);
  }

  /**
   * Returns the sum of each row: a {@code float[]} or {@code double[]} of floats, else a {@code
   * long[]}.
   *
   * @throws IllegalArgumentException if the buffer has not {@code rows * columns} elements, or they
   *     are records
   */
  public static Object sum(UnifiedBuffer<?> matrix, long rows, long columns) {
    return RowReduction.of(matrix, rows, columns).sums();
  }

  /**
   * Returns the mean of each row: a {@code float[]} of 32-bit floats, else a {@code double[]}.
   *
   * @throws IllegalArgumentException if the buffer has not {@code rows * columns} elements, or they
   *     are records
   */
  public static Object mean(UnifiedBuffer<?> matrix, long rows, long columns) {
    return RowReduction.of(matrix, rows, columns).means();
  }

  /**
   * Returns the least element of each row.
   *
   * @throws IllegalArgumentException if the buffer has not {@code rows * columns} elements, rows
   *     have none, or they are records
   */
  public static <A> A min(UnifiedBuffer<A> matrix, long rows, long columns) {
    return RowReduction.of(matrix, rows, columns).chosen(false);
  }

  /**
   * Returns the greatest element of each row.
   *
   * @throws IllegalArgumentException if the buffer has not {@code rows * columns} elements, rows
   *     have none, or they are records
   */
  public static <A> A max(UnifiedBuffer<A> matrix, long rows, long columns) {
    return RowReduction.of(matrix, rows, columns).chosen(true);
  }

  /**
   * Returns the column of the first least element of each row.
   *
   * @throws IllegalArgumentException if the buffer has not {@code rows * columns} elements, rows
   *     have none, or they are records
   */
  public static long[] argMin(UnifiedBuffer<?> matrix, long rows, long columns) {
    return RowReduction.of(matrix, rows, columns).indices(false);
  }

  /**
   * Returns the column of the first greatest element of each row.
   *
   * @throws IllegalArgumentException if the buffer has not {@code rows * columns} elements, rows
   *     have none, or they are records
   */
  public static long[] argMax(UnifiedBuffer<?> matrix, long rows, long columns) {
    return RowReduction.of(matrix, rows, columns).indices(true);
  }

  /**
   * Computes reductions in the background:
   *
   * <pre>{@code
   * CompletableFuture<Number> total = Reductions.async(() -> Reductions.sum(buffer));
   * }</pre>
   */
  public static <T> CompletableFuture<T> async(Supplier<T> reduction) {
    return BackgroundWork.start(reduction);
  }
}
