package dev.tidepool.stream;

import dev.tidepool.UnifiedBuffer;
import dev.tidepool.cpu.CpuDevice;
import dev.tidepool.expression.syntax.Reduction;
import dev.tidepool.expression.syntax.Reduction.Kind;
import dev.tidepool.expression.syntax.ScalarType;
import dev.tidepool.runtime.order.BackgroundWork;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

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
 * the host. The methods return when they are done. Whoever writes to the buffer meanwhile gets a
 * result of old and new elements.
 *
 * <p>With rows and columns, a buffer is taken as a matrix whose rows lie one after another, and the
 * result has an element for each row.
 */
public final class Reductions {
  /** What one thread reads at once: it stays in the processor's cache. */
  private static final long CHUNK_BYTES = 512 << 10;

  private Reductions() {}

  /**
   * The sum: a {@link Float} or {@link Double} of floats, a {@link java.math.BigInteger} of
   * unsigned integers, else a {@link Long}; 0 if there are no elements.
   *
   * @throws IllegalArgumentException if the elements are records
   */
  public static Number sum(UnifiedBuffer<?> buffer) {
    return fold(buffer, Kind.SUM);
  }

  /**
   * The mean: a {@link Float} of 32-bit floats, else a {@link Double}; not-a-number if there are no
   * elements.
   *
   * @throws IllegalArgumentException if the elements are records
   */
  public static Number mean(UnifiedBuffer<?> buffer) {
    return fold(buffer, Kind.MEAN);
  }

  /**
   * The least element: a {@link Float} or {@link Double} of floats, a {@link java.math.BigInteger}
   * of unsigned 64-bit integers, else a {@link Long}.
   *
   * @throws IllegalArgumentException if there are no elements, or they are records
   */
  public static Number min(UnifiedBuffer<?> buffer) {
    return fold(buffer, Kind.MIN);
  }

  /**
   * The greatest element, boxed as {@link #min(UnifiedBuffer)} does.
   *
   * @throws IllegalArgumentException if there are no elements, or they are records
   */
  public static Number max(UnifiedBuffer<?> buffer) {
    return fold(buffer, Kind.MAX);
  }

  /**
   * The index of the first least element.
   *
   * @throws IllegalArgumentException if there are no elements, or they are records
   */
  public static long argMin(UnifiedBuffer<?> buffer) {
    return find(buffer, false);
  }

  /**
   * The index of the first greatest element.
   *
   * @throws IllegalArgumentException if there are no elements, or they are records
   */
  public static long argMax(UnifiedBuffer<?> buffer) {
    return find(buffer, true);
  }

  /**
   * The sum of each row: a {@code float[]} or {@code double[]} of floats, else a {@code long[]}.
   *
   * @throws IllegalArgumentException if the buffer has not {@code rows * columns} elements, or they
   *     are records
   */
  public static Object sum(UnifiedBuffer<?> matrix, long rows, long columns) {
    return RowReduction.of(matrix, rows, columns).sums();
  }

  /**
   * The mean of each row: a {@code float[]} of 32-bit floats, else a {@code double[]}.
   *
   * @throws IllegalArgumentException if the buffer has not {@code rows * columns} elements, or they
   *     are records
   */
  public static Object mean(UnifiedBuffer<?> matrix, long rows, long columns) {
    return RowReduction.of(matrix, rows, columns).means();
  }

  /**
   * The least element of each row.
   *
   * @throws IllegalArgumentException if the buffer has not {@code rows * columns} elements, rows
   *     have none, or they are records
   */
  public static <A> A min(UnifiedBuffer<A> matrix, long rows, long columns) {
    return RowReduction.of(matrix, rows, columns).chosen(false);
  }

  /**
   * The greatest element of each row.
   *
   * @throws IllegalArgumentException if the buffer has not {@code rows * columns} elements, rows
   *     have none, or they are records
   */
  public static <A> A max(UnifiedBuffer<A> matrix, long rows, long columns) {
    return RowReduction.of(matrix, rows, columns).chosen(true);
  }

  /**
   * The column of the first least element of each row.
   *
   * @throws IllegalArgumentException if the buffer has not {@code rows * columns} elements, rows
   *     have none, or they are records
   */
  public static long[] argMin(UnifiedBuffer<?> matrix, long rows, long columns) {
    return RowReduction.of(matrix, rows, columns).indices(false);
  }

  /**
   * The column of the first greatest element of each row.
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

  /** What a reduction makes of all elements. */
  static Number fold(UnifiedBuffer<?> buffer, Kind kind) {
    ScalarType type = ScalarType.of(buffer.elementType());
    if (kind == Kind.MIN || kind == Kind.MAX) {
      checkAny(buffer.length(), kind.functionName());
    }
    Reduction reduction = new Reduction("buffer", kind, List.of());
    Reducer reducer = Reducer.of(reduction, type, buffer.length(), Map.of());
    read(buffer, ElementBatch.LENGTH, reducer::write);
    return reducer.value() instanceof Boolean truth
        ? (Number) (truth ? 1L : 0L)
        : (Number) reducer.value();
  }

  static long find(UnifiedBuffer<?> buffer, boolean greatest) {
    checkAny(buffer.length(), greatest ? "argMax" : "argMin");
    ScalarType type = ScalarType.of(buffer.elementType());
    ArgReducer reducer = new ArgReducer(type, buffer.length(), greatest);
    read(buffer, ElementBatch.LENGTH, reducer::write);
    return (Long) reducer.value();
  }

  static void checkAny(long length, String function) {
    if (length == 0) {
      throw new IllegalArgumentException(
          function + " of no elements has no value; the buffer, or each row, is empty");
    }
  }

  /** Takes elements from an offset on, on any thread. */
  @FunctionalInterface
  interface Fold {
    void take(long elementOffset, MemorySegment elements);
  }

  /** Reads all elements in chunks of whole units of {@code unit} elements, on all processors. */
  static void read(UnifiedBuffer<?> buffer, long unit, Fold fold) {
    long width = buffer.elementType().byteSize();
    long grain = Math.max(1, CHUNK_BYTES / (unit * width)) * unit;
    ConcurrentLinkedQueue<MemorySegment> idle = new ConcurrentLinkedQueue<>();
    CpuDevice.spread(
        buffer.length(),
        grain,
        (from, to) -> {
          @Nullable MemorySegment known = idle.poll();
          long most = Math.min(grain, to - from) * width;
          MemorySegment block =
              known != null && known.byteSize() >= most
                  ? known
                  : MemorySegment.ofArray(new long[Math.toIntExact((most + 7) / 8)]);
          for (long at = from; at < to; at += grain) {
            MemorySegment part = block.asSlice(0, Math.min(grain, to - at) * width);
            buffer.copyTo(at, part);
            fold.take(at, part);
          }
          idle.add(block);
        });
  }

  /** Whether a row is read in one piece. */
  static boolean isShort(long columns, long width) {
    return columns * width <= CHUNK_BYTES;
  }
}
