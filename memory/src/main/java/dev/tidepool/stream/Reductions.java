package dev.tidepool.stream;

import dev.tidepool.UnifiedBuffer;
import dev.tidepool.expression.syntax.Reduction.Kind;
import dev.tidepool.runtime.threads.BackgroundWork;
import dev.tidepool.stream.reduction.BufferReduction;
import dev.tidepool.stream.reduction.RowReduction;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/**
 * Computes sums, means, minima and maxima of buffers, with NumPy's meaning.
 *
 * <pre>{@code
 * try (UnifiedBuffer<float[]> scores = memory.copyOf(new float[] {1, 4, 2, 8, 5, 7})) {
 *   Number sum = dev.tidepool.stream.Reductions.sum(scores); // 27.0f
 *   long best = dev.tidepool.stream.Reductions.argMax(scores); // 3
 *   long[] bestOfEachRow = dev.tidepool.stream.Reductions.argMax(scores, 2, 3); // 1, 0
 * }
 * }</pre>
 *
 * <p>If an element is NaN, the result is NaN, and {@code argMin} and {@code argMax} return its
 * index. Sums of floats are accumulated pairwise in double, in an order that depends only on the
 * positions: all bits of the result are the same on every accelerator, and in a pipeline's {@code
 * sum(x)}. Sums of integers wrap around at 64 bits. Booleans count as 0 and 1.
 *
 * <p>The newest copy of the buffer is read once, in chunks, without creating a second copy, and all
 * processors reduce it. Bytes of an accelerator with its own memory are transferred to the host.
 * The methods block. If another thread writes to the buffer meanwhile, the result is computed from
 * old and new elements.
 *
 * <p>With rows and columns, a buffer is treated as a matrix in row-major order, and the result has
 * an element for each row.
 */
public final class Reductions {
  private Reductions() {}

  /**
   * Returns the sum: a {@link Float} or {@link Double} for floats, a {@link java.math.BigInteger}
   * for unsigned integers, otherwise a {@link Long}; 0 if there are no elements.
   *
   * @throws IllegalArgumentException if the elements are records
   */
  public static Number sum(UnifiedBuffer<?> buffer) {
    return BufferReduction.fold(buffer, Kind.SUM);
  }

  /**
   * Returns the mean: a {@link Float} for 32-bit floats, otherwise a {@link Double}; NaN if there
   * are no elements.
   *
   * @throws IllegalArgumentException if the elements are records
   */
  public static Number mean(UnifiedBuffer<?> buffer) {
    return BufferReduction.fold(buffer, Kind.MEAN);
  }

  /**
   * Returns the least element: a {@link Float} or {@link Double} for floats, a {@link
   * java.math.BigInteger} for unsigned 64-bit integers, otherwise a {@link Long}.
   *
   * @throws IllegalArgumentException if there are no elements, or they are records
   */
  public static Number min(UnifiedBuffer<?> buffer) {
    return BufferReduction.fold(buffer, Kind.MIN);
  }

  /**
   * Returns the greatest element, with the same result types as {@link #min(UnifiedBuffer)}.
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
   * Returns the sum of each row: a {@code float[]} or {@code double[]} for floats, otherwise a
   * {@code long[]}.
   *
   * @throws IllegalArgumentException if the buffer does not have {@code rows * columns} elements,
   *     or they are records
   */
  public static Object sum(UnifiedBuffer<?> matrix, long rows, long columns) {
    return RowReduction.of(matrix, rows, columns).sums();
  }

  /**
   * Returns the mean of each row: a {@code float[]} for 32-bit floats, otherwise a {@code
   * double[]}.
   *
   * @throws IllegalArgumentException if the buffer does not have {@code rows * columns} elements,
   *     or they are records
   */
  public static Object mean(UnifiedBuffer<?> matrix, long rows, long columns) {
    return RowReduction.of(matrix, rows, columns).means();
  }

  /**
   * Returns the least element of each row.
   *
   * @throws IllegalArgumentException if the buffer does not have {@code rows * columns} elements,
   *     rows are empty, or the elements are records
   */
  public static <A> A min(UnifiedBuffer<A> matrix, long rows, long columns) {
    return RowReduction.of(matrix, rows, columns).chosen(false);
  }

  /**
   * Returns the greatest element of each row.
   *
   * @throws IllegalArgumentException if the buffer does not have {@code rows * columns} elements,
   *     rows are empty, or the elements are records
   */
  public static <A> A max(UnifiedBuffer<A> matrix, long rows, long columns) {
    return RowReduction.of(matrix, rows, columns).chosen(true);
  }

  /**
   * Returns the column of the first least element of each row.
   *
   * @throws IllegalArgumentException if the buffer does not have {@code rows * columns} elements,
   *     rows are empty, or the elements are records
   */
  public static long[] argMin(UnifiedBuffer<?> matrix, long rows, long columns) {
    return RowReduction.of(matrix, rows, columns).indices(false);
  }

  /**
   * Returns the column of the first greatest element of each row.
   *
   * @throws IllegalArgumentException if the buffer does not have {@code rows * columns} elements,
   *     rows are empty, or the elements are records
   */
  public static long[] argMax(UnifiedBuffer<?> matrix, long rows, long columns) {
    return RowReduction.of(matrix, rows, columns).indices(true);
  }

  /**
   * Runs a reduction in the background:
   *
   * <pre>{@code
   * CompletableFuture<Number> total = Reductions.async(() -> Reductions.sum(buffer));
   * }</pre>
   */
  public static <T> CompletableFuture<T> async(Supplier<T> reduction) {
    return BackgroundWork.start(reduction);
  }
}
