package dev.tidepool.spark;

import java.util.NoSuchElementException;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.jspecify.annotations.Nullable;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/**
 * The {@link RowChunk}s of one partition, with the results of the kernel.
 *
 * <p>Only the thread of the task uses this. A chunk is valid until the next call of {@link
 * #hasNext}, because the following rows are stored in the same chunk.
 */
final class KernelChunks extends AbstractIterator<InternalRow> {
  private final TaskContext task;
  private final Iterator<InternalRow> chunks;
  private final KernelRun run;

  /** The chunk that was returned last. */
  private @Nullable RowChunk used;

  KernelChunks(TaskContext task, Iterator<InternalRow> chunks, KernelRun run) {
    this.task = task;
    this.chunks = chunks;
    this.run = run;
  }

  @Override
  public boolean hasNext() {
    if (used != null) {
      used.clear();
      used = null;
    }
    boolean isMore = chunks.hasNext();
    if (!isMore) {
      // A task may have many partitions, so the memory is freed at the end of each.
      run.end();
    }
    return isMore;
  }

  @Override
  public InternalRow next() {
    if (!hasNext()) {
      throw new NoSuchElementException("the partition has no more rows");
    }
    task.killTaskIfInterrupted();
    RowChunk chunk = (RowChunk) chunks.next();
    used = chunk;
    run.compute(chunk);
    return chunk;
  }
}
