package dev.tidepool.stream.reduction;

import dev.tidepool.UnifiedBuffer;
import dev.tidepool.expression.syntax.Reduction.Kind;
import dev.tidepool.expression.syntax.ScalarType;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.function.ObjIntConsumer;

/**
 * Reductions of each row of a matrix in row-major order. Many short rows are read at a time; a long
 * row is reduced like a buffer.
 *
 * @param <A> the array that carries elements
 */
public final class RowReduction<A> {
  private final UnifiedBuffer<A> matrix;
  private final ScalarType type;
  private final int rows;
  private final long columns;

  private RowReduction(UnifiedBuffer<A> matrix, int rows, long columns) {
    this.matrix = matrix;
    this.type = ScalarType.of(matrix.elementType());
    this.rows = rows;
    this.columns = columns;
  }

  /**
   * Returns the reductions of a matrix.
   *
   * @throws IllegalArgumentException if the buffer has not {@code rows * columns} elements, or they
   *     are records, or there are more rows than an array has elements
   */
  public static <A> RowReduction<A> of(UnifiedBuffer<A> matrix, long rows, long columns) {
    boolean fits =
        rows >= 0
            && columns >= 0
            && ((rows == 0 || columns == 0)
                ? matrix.length() == 0
                : Math.multiplyHigh(rows, columns) == 0 && rows * columns == matrix.length());
    if (!fits) {
      throw new IllegalArgumentException(
          "a matrix of %s rows and %s columns, but the buffer has %s elements"
              .formatted(rows, columns, matrix.length()));
    }
    if (rows > Integer.MAX_VALUE) {
      throw new IllegalArgumentException(
          rows + " rows do not fit into a Java array of results; reduce slices of the buffer");
    }
    return new RowReduction<>(matrix, Math.toIntExact(rows), columns);
  }

  /**
   * Returns the sum of each row: a {@code float[]} or {@code double[]} of floats, else {@code
   * long[]}.
   */
  public Object sums() {
    if (type.isFloating()) {
      return reals(Kind.SUM);
    }
    long[] sums = new long[rows];
    each(
        (elements, first, count) -> {
          ElementBatch batch = new ElementBatch(type);
          for (int row = 0; row < count; row++) {
            sums[first + row] = IntegerSum.sum(batch, elements, row * columns, columns);
          }
        },
        (elements, row) -> sums[row] = BufferReduction.fold(elements, Kind.SUM).longValue());
    return sums;
  }

  /** Returns the mean of each row: a {@code float[]} of 32-bit floats, else a {@code double[]}. */
  public Object means() {
    return reals(Kind.MEAN);
  }

  /** Returns the sums or means, computed as doubles. */
  private Object reals(Kind kind) {
    double[] results = new double[rows];
    each(
        (elements, first, count) -> {
          BlockSums sums = new BlockSums(type, elements, count * columns);
          for (int row = 0; row < count; row++) {
            double sum = sums.sumOf(row * columns, columns);
            results[first + row] = kind == Kind.MEAN ? sum / columns : sum;
          }
        },
        (elements, row) -> results[row] = BufferReduction.fold(elements, kind).doubleValue());
    if (columns == 0 && kind == Kind.MEAN) {
      Arrays.fill(results, Double.NaN);
    }
    return type == ScalarType.FLOAT32 ? narrowed(results) : results;
  }

  private static float[] narrowed(double[] values) {
    float[] narrow = new float[values.length];
    for (int i = 0; i < narrow.length; i++) {
      narrow[i] = (float) values[i];
    }
    return narrow;
  }

  /** Returns the columns of the first least or greatest elements. */
  public long[] indices(boolean greatest) {
    if (rows > 0) {
      BufferReduction.checkAny(columns, greatest ? "argMax" : "argMin");
    }
    long[] indices = new long[rows];
    each(
        (elements, first, count) -> {
          ArgReducer.Search search = new ArgReducer.Search(type, greatest);
          for (int row = 0; row < count; row++) {
            indices[first + row] = search.find(elements, row * columns, columns);
          }
        },
        (elements, row) -> indices[row] = BufferReduction.find(elements, greatest));
    return indices;
  }

  /** Returns the least or greatest elements. */
  public A chosen(boolean greatest) {
    if (rows > 0) {
      BufferReduction.checkAny(columns, greatest ? "max" : "min");
    }
    A chosen = matrix.elementType().newArray(rows);
    each(
        (elements, first, count) -> {
          ArgReducer.Search search = new ArgReducer.Search(type, greatest);
          for (int row = 0; row < count; row++) {
            long index = row * columns + search.find(elements, row * columns, columns);
            matrix.elementType().read(elements, index * type.byteSize(), chosen, first + row, 1);
          }
        },
        (elements, row) ->
            elements.copyTo(BufferReduction.find(elements, greatest), chosen, row, 1));
    return chosen;
  }

  @FunctionalInterface
  private interface ShortRows {
    /** Reduces {@code count} rows, the first of which is the matrix's row {@code first}. */
    void reduce(MemorySegment elements, int first, int count);
  }

  /** Reduces each row once: short ones by several threads, a long one as a buffer. */
  private void each(ShortRows shortRows, ObjIntConsumer<UnifiedBuffer<A>> longRow) {
    if (columns == 0 || rows == 0) {
      return;
    }
    if (BufferReduction.isShort(columns, type.byteSize())) {
      BufferReduction.read(
          matrix,
          columns,
          (offset, elements) ->
              shortRows.reduce(
                  elements,
                  Math.toIntExact(offset / columns),
                  Math.toIntExact(elements.byteSize() / type.byteSize() / columns)));
      return;
    }
    for (int row = 0; row < rows; row++) {
      try (UnifiedBuffer<A> elements = matrix.slice(row * columns, columns)) {
        longRow.accept(elements, row);
      }
    }
  }
}
