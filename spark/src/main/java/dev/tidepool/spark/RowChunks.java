package dev.tidepool.spark;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.jspecify.annotations.Nullable;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.runtime.AbstractFunction1;

/** Stores the rows of a partition in chunks if Spark generates no code for that. */
final class RowChunks extends AbstractFunction1<Iterator<InternalRow>, Iterator<InternalRow>>
    implements Serializable {
  private static final long serialVersionUID = 1L;

  private final ChunkShape shape;

  RowChunks(ChunkShape shape) {
    this.shape = shape;
  }

  @Override
  public Iterator<InternalRow> apply(Iterator<InternalRow> rows) {
    return new AbstractIterator<>() {
      private @Nullable RowChunk chunk;

      @Override
      public boolean hasNext() {
        return rows.hasNext();
      }

      @Override
      public InternalRow next() {
        if (chunk == null) {
          chunk = shape.open();
        }
        boolean isFull = false;
        while (!isFull && rows.hasNext()) {
          chunk.append(rows.next());
          isFull = chunk.addRow();
        }
        return chunk;
      }
    };
  }
}
