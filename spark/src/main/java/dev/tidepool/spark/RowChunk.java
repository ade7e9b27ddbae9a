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
 * Some rows of a partition as columns, with columns for the results of a kernel behind them. It is
 * a row itself because Spark's stages hand on rows and nothing else; only the nodes around the
 * kernel know what it is. Public for code that Spark generates.
 *
 * <p>Filled, handed on and cleared by turns, by the thread of its task alone.
 */
public final class RowChunk extends GenericInternalRow {
  private static final long serialVersionUID = 1L;

  private final transient OnHeapColumnVector[] columns;
  private final transient OnHeapColumnVector[] results;
  private final transient RowToColumnConverter converter;
  private final int fullRows;
  private final long fullBytes;
  private int rows;

  /** What strings, arrays and the like of the rows have, whose types do not say how much. */
  private long bytes;

  private boolean isHandedOn;

  /**
   * Creates an empty chunk.
   *
   * @param schema the rows' columns, of {@link StorableTypes}
   * @param fullRows how many rows make it full
   * @param fullBytes how many bytes of strings and the like make it full with fewer rows
   */
  RowChunk(StructType schema, StructType resultSchema, int fullRows, long fullBytes) {
    this.columns = OnHeapColumnVector.allocateColumns(fullRows, schema);
    this.results = OnHeapColumnVector.allocateColumns(fullRows, resultSchema);
    this.converter = new RowToColumnConverter(schema);
    this.fullRows = fullRows;
    this.fullBytes = fullBytes;
  }

  /** Returns a column: those of the rows, then those of the results. */
  public WritableColumnVector column(int index) {
    return index < columns.length ? columns[index] : results[index - columns.length];
  }

  /** Appends the values of a row to all columns; the row is not kept. */
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
   * @return whether the chunk became full and is to be handed on. A stage may have further rows
   *     before it stops; then the columns grow.
   */
  public boolean addRow() {
    rows++;
    if ((rows < fullRows && bytes < fullBytes) || isHandedOn) {
      return false;
    }
    isHandedOn = true;
    return true;
  }

  /** Returns whether there are rows to hand on at the end of the input. */
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

  /** Rows that make it full. */
  int fullRows() {
    return fullRows;
  }

  OnHeapColumnVector[] columns() {
    return columns;
  }

  /** Returns the columns of the results, with room for all rows. */
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
