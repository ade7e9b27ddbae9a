package dev.tidepool.spark;

import dev.tidepool.Allocation;
import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.MemoryLocation;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.TidepoolException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;
import org.apache.spark.util.TaskCompletionListener;

/**
 * A kernel in one task: its code, and a buffer for each of its arrays.
 *
 * <p>The first chunk allocates the buffers from the manager's pool. They are closed at the end of
 * the partition or of the task, even if it fails or is killed. Another kernel may close them
 * between two chunks. A chunk that does not fit the device's memory is computed in parts. If a
 * small part does not fit, {@link BufferHolders} makes room.
 *
 * <p>One thread of the task uses the kernel. Other threads may close its buffers, which the lock
 * guards.
 */
final class KernelRun implements TaskCompletionListener, BufferHolders.Holder {
  private static final Allocation PLACE = Allocation.at(MemoryLocation.DEVICE).tag("spark");

  /** A part of so few rows is slower than taking turns with other kernels. */
  private static final int SMALL_PART = 2048;

  private final TaskContext task;
  private final UnifiedMemoryManager memory;
  private final ExecutorSession session;
  private final TypedKernel typed;
  private final int[] places;
  private final Kernel kernel;
  private final SQLMetric kernelTime;
  private final SQLMetric launches;

  /** Held while the kernel computes. No thread waits for other kernels while it holds one. */
  private final ReentrantLock lock = new ReentrantLock();

  // Guarded by the lock.
  private final List<UnifiedBuffer<?>> buffers = new ArrayList<>();

  /** For each buffer, an array through which results are copied. */
  private final List<Object> passages = new ArrayList<>();

  /** Whether the task has ended; buffers allocated later would never be closed. */
  private boolean hasEnded;

  /** The number of rows that fit the buffers; 0 before the first chunk. */
  private int capacity;

  /** The value of {@link BufferHolders#ends} at the last chunk; -1 before the first. */
  private long seenEnds = -1;

  /**
   * Compiles the kernel, or reuses the code that an earlier task compiled.
   *
   * @param places the positions of the kernel's inputs in the rows
   */
  KernelRun(
      TaskContext task,
      ExecutorSession session,
      TypedKernel typed,
      int[] places,
      SQLMetric kernelTime,
      SQLMetric launches) {
    this.task = task;
    this.session = session;
    this.memory = session.memory(task);
    this.typed = typed;
    this.places = places;
    this.kernelTime = kernelTime;
    this.launches = launches;
    // Not closed, so that the manager keeps the code for the next task.
    this.kernel = memory.compile(typed.kernel().compilable());
    task.addTaskCompletionListener((TaskCompletionListener) this);
  }

  /**
   * Computes the rows of a chunk, and writes the results.
   *
   * @throws IllegalArgumentException if an input is null in one of the rows
   */
  void compute(RowChunk chunk) {
    WritableColumnVector[] columns = chunk.columns();
    WritableColumnVector[] results = chunk.results();
    int rows = chunk.rows();
    growCapacity(chunk.fullRows());
    checkNulls(columns, rows);
    int done = 0;
    while (done < rows) {
      int count = Math.min(capacity, rows - done);
      try {
        computePart(columns, results, done, count);
        done += count;
      } catch (OutOfDeviceMemoryException e) {
        closeBuffers();
        if (capacity <= SMALL_PART && madeRoom()) {
          continue;
        }
        if (capacity == 1) {
          throw e;
        }
        capacity = Math.max(1, Math.min(capacity, count) / 2);
      } catch (TidepoolException e) {
        session.failed(memory.accelerator(), e);
        throw e;
      } finally {
        session.holders().computed();
      }
    }
  }

  /** Grows only after other kernels were done, because a failed attempt is expensive. */
  private void growCapacity(int fullRows) {
    long ends = session.holders().ends();
    if (capacity < fullRows && ends != seenEnds) {
      closeBuffers();
      capacity = fullRows;
    }
    seenEnds = ends;
  }

  private boolean madeRoom() {
    task.killTaskIfInterrupted();
    return session.holders().makeRoom();
  }

  private void checkNulls(WritableColumnVector[] columns, int rows) {
    List<TypedKernel.Array> inputs = typed.inputs();
    for (int i = 0; i < inputs.size(); i++) {
      WritableColumnVector column = columns[places[i]];
      if (!column.hasNull()) {
        continue;
      }
      for (int row = 0; row < rows; row++) {
        if (column.isNullAt(row)) {
          String name = inputs.get(i).name();
          throw new IllegalArgumentException(
              "the column '"
                  + name
                  + "' has a null, and kernels compute with values only; before the kernel, remove"
                  + " such rows by na().drop(new String[] {\""
                  + name
                  + "\"}) or give them a value by na().fill(...)");
        }
      }
    }
  }

  private void computePart(
      WritableColumnVector[] columns, WritableColumnVector[] results, int from, int count) {
    lock.lock();
    try {
      if (hasEnded) {
        throw new IllegalStateException("the task has ended; read its rows before");
      }
      allocateBuffers();
      computeLocked(columns, results, from, count);
    } finally {
      lock.unlock();
    }
  }

  private void computeLocked(
      WritableColumnVector[] columns, WritableColumnVector[] results, int from, int count) {
    Map<String, Object> values = new LinkedHashMap<>(typed.kernel().scalars());
    int input = 0;
    long start = System.nanoTime();
    for (int i = 0; i < buffers.size(); i++) {
      TypedKernel.Array array = typed.arrays().get(i);
      UnifiedBuffer<?> part = front(buffers.get(i), count);
      if (array.isInput()) {
        copyFrom(part, array.type().read(columns[places[input++]], from, count));
      } else if (array.isCleared()) {
        part.fill((byte) 0);
      }
      values.put(array.name(), part);
    }
    if (kernel.source() instanceof KernelSource.Elementwise) {
      kernel.execute(Arguments.of(values));
    } else {
      kernel.execute(Arguments.of(values), LaunchRange.of(count));
    }
    int result = 0;
    for (int i = 0; i < buffers.size(); i++) {
      TypedKernel.Array array = typed.arrays().get(i);
      if (array.isResult()) {
        copyTo(buffers.get(i), passages.get(i), count);
        array.type().write(passages.get(i), count, results[result++], from);
      }
    }
    kernelTime.add(System.nanoTime() - start);
    launches.add(1);
  }

  private static UnifiedBuffer<?> front(UnifiedBuffer<?> buffer, int count) {
    return count == buffer.length() ? buffer : buffer.slice(0, count);
  }

  @SuppressWarnings("unchecked") // The array is of the type of the buffer's elements.
  private static <A> void copyFrom(UnifiedBuffer<A> buffer, Object array) {
    buffer.copyFrom((A) array);
  }

  @SuppressWarnings("unchecked") // The array is of the type of the buffer's elements.
  private static <A> void copyTo(UnifiedBuffer<A> buffer, Object array, int count) {
    buffer.copyTo(0, (A) array, 0, count);
  }

  private void allocateBuffers() {
    if (buffers.isEmpty()) {
      for (TypedKernel.Array array : typed.arrays()) {
        ElementType<?> type = array.type().elementType();
        buffers.add(memory.allocate(type, capacity, PLACE));
        passages.add(type.newArray(array.isResult() ? capacity : 0));
      }
      session.holders().took(this);
    }
  }

  /** Ends a partition; the next one allocates buffers again. */
  void end() {
    closeBuffers();
    session.holders().ended();
  }

  private void closeBuffers() {
    lock.lock();
    try {
      session.holders().gaveBack(this);
      buffers.forEach(UnifiedBuffer::close);
      buffers.clear();
      passages.clear();
    } finally {
      lock.unlock();
    }
  }

  @Override
  public boolean tryCloseBuffers() {
    if (!lock.tryLock()) {
      return false;
    }
    try {
      closeBuffers();
      return true;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void onTaskCompletion(TaskContext context) {
    lock.lock();
    try {
      hasEnded = true;
    } finally {
      lock.unlock();
    }
    end();
  }
}
