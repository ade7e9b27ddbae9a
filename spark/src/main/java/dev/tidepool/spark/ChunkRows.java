package dev.tidepool.spark;

import java.io.Serializable;
import java.util.Collections;
import java.util.Iterator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.types.StructType;
import scala.collection.AbstractIterator;
import scala.runtime.AbstractFunction1;

/** Reads rows from {@link RowChunk}s if Spark generates no code for that. */
final class ChunkRows
    extends AbstractFunction1<
        scala.collection.Iterator<InternalRow>, scala.collection.Iterator<InternalRow>>
    implements Serializable {
  private static final long serialVersionUID = 1L;

  private final StructType schema;

  ChunkRows(StructType schema) {
    this.schema = schema;
  }

  @Override
  public scala.collection.Iterator<InternalRow> apply(
      scala.collection.Iterator<InternalRow> chunks) {
    UnsafeProjection toRow = UnsafeProjection.create(schema);
    return new AbstractIterator<>() {
      private Iterator<InternalRow> rows = Collections.emptyIterator();

      @Override
      public boolean hasNext() {
        while (!rows.hasNext() && chunks.hasNext()) {
          rows = ((RowChunk) chunks.next()).batch().rowIterator();
        }
        return rows.hasNext();
      }

      @Override
      public InternalRow next() {
        return hasNext() ? toRow.apply(rows.next()) : rows.next();
      }
    };
  }
}
