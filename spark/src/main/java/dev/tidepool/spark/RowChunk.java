package dev.tidepool.spark;

import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.RowToColumnConverter;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * Some rows of a partition as columns, followed by columns for the results of a kernel. A chunk is
 * itself a row, because Spark's stages pass only rows to each other; only the nodes around the
 * kernel know the difference. Public for code that Spark generates.
 *
 * <p>The thread of the task fills, passes on and clears the chunk in turn.
 */
public final class RowChunk extends GenericInternalRow {
  private static final long serialVersionUID = 1L;

  private final transient OnHeapColumnVector[] columns;
  private final transient OnHeapColumnVector[] results;
  private final transient RowToColumnConverter converter;
  private final int fullRows;
  private final long fullBytes;
  private int rows;

  /** Bytes of strings, arrays and the like in the rows, whose types do not tell their size. */
  private long bytes;

  private boolean isHandedOn;

  /**
   * Creates an empty chunk.
   *
   * @param schema the columns of the rows, with {@link StorableTypes}
   * @param fullRows the number of rows of a full chunk
   * @param fullBytes the bytes of variable length that make a chunk full with fewer rows
   */
  RowChunk(StructType schema, StructType resultSchema, int fullRows, long fullBytes) {
    this.columns = OnHeapColumnVector.allocateColumns(fullRows, schema);
    this.results = OnHeapColumnVector.allocateColumns(fullRows, resultSchema);
    this.converter = new RowToColumnConverter(schema);
    this.fullRows = fullRows;
    this.fullBytes = fullBytes;
  }

  /** Returns a column; the results follow the columns of the rows. */
  public WritableColumnVector column(int index) {
    return index < columns.length ? columns[index] : results[index - columns.length];
  }

  /** Appends the values of a row to all columns, and keeps no reference to the row. */
  public void append(InternalRow row) {
    converter.convert(row, columns);
    if (row instanceof UnsafeRow unsafe) {
      bytes += unsafe.getSizeInBytes() - fixedBytes(unsafe.numFields());
    }
  }

  private static long fixedBytes(int fields) {
    return UnsafeRow.calculateBitSetWidthInBytes(fields) + (long) Long.BYTES * fields;
  }

  /**
   * Counts a row whose values were appended.
   *
   * @return whether the chunk became full and must be passed on. A stage may add more rows before
   *     it stops; the columns grow then.
   */
  public boolean addRow() {
    rows++;
    if ((rows < fullRows && bytes < fullBytes) || isHandedOn) {
      return false;
    }
    isHandedOn = true;
    return true;
  }

  /** Returns whether rows remain to be passed on at the end of the input. */
  public boolean endsPartlyFilled() {
    if (rows == 0 || isHandedOn) {
      return false;
    }
    isHandedOn = true;
    return true;
  }

  /** Returns the number of rows. */
  public int rows() {
    return rows;
  }

  /** Returns the number of rows of a full chunk. */
  int fullRows() {
    return fullRows;
  }

  OnHeapColumnVector[] columns() {
    return columns;
  }

  /** Returns the result columns, with room for all rows. */
  OnHeapColumnVector[] results() {
    for (OnHeapColumnVector result : results) {
      result.reserve(rows);
    }
    return results;
  }

  /** Returns all columns. */
  ColumnarBatch batch() {
    ColumnVector[] all =
        Arrays.copyOf(columns, columns.length + results.length, ColumnVector[].class);
    System.arraycopy(results, 0, all, columns.length, results.length);
    return new ColumnarBatch(all, rows);
  }

  void clear() {
    for (OnHeapColumnVector column : columns) {
      column.reset();
    }
    rows = 0;
    bytes = 0;
    isHandedOn = false;
  }
}
