package dev.tidepool.spark;

import java.io.Serializable;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.metric.SQLMetric;
import scala.collection.Iterator;
import scala.runtime.AbstractFunction1;

/** Processes the chunks of a task's partition; sent to the executors. */
final class KernelTask extends AbstractFunction1<Iterator<InternalRow>, Iterator<InternalRow>>
    implements Serializable {
  private static final long serialVersionUID = 1L;

  private final TypedKernel kernel;
  private final int[] places;
  private final SQLMetric launches;
  private final SQLMetric time;

  /**
   * Creates the function for a kernel.
   *
   * @param places the positions of the kernel's inputs in the rows
   */
  KernelTask(TypedKernel kernel, int[] places, SQLMetric launches, SQLMetric time) {
    this.kernel = kernel;
    this.places = places;
    this.launches = launches;
    this.time = time;
  }

  @Override
  public Iterator<InternalRow> apply(Iterator<InternalRow> chunks) {
    if (!chunks.hasNext()) {
      // A task without rows needs no device.
      return scala.collection.Iterator.empty();
    }
    TaskContext task = TaskContext.get();
    KernelRun run = new KernelRun(task, ExecutorSession.current(), kernel, places, time, launches);
    return new KernelChunks(task, chunks, run);
  }
}
