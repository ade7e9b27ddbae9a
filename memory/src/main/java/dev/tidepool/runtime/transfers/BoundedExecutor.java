package dev.tidepool.runtime.transfers;

import dev.tidepool.runtime.buffer.SmallTransferBatch;
import dev.tidepool.runtime.threads.HandoffExecutor;
import dev.tidepool.runtime.threads.Resumable;
import dev.tidepool.runtime.threads.TransferExecutor;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Runs the transfers of one list on {@link TransferExecutor}, a bounded number at a time. It starts
 * once the whole list is submitted, so that small transfers can be combined.
 *
 * <p>Each task runs one transfer, then is queued again behind the requests of other callers. The
 * monitor guards the number of tasks. A thread holds the monitor while it polls the queue.
 */
final class BoundedExecutor extends Resumable implements HandoffExecutor {
  private final HandoffExecutor transferExecutor;
  private final int most;
  private final boolean tells;
  private final Queue<Runnable> queue = new ConcurrentLinkedQueue<>();
  private final Runnable runNext = this::runNext;
  private int tasks;
  private boolean started;

  /**
   * Creates the executor of one list.
   *
   * @param most the largest number of transfers that run at a time
   * @param tells whether a listener of the user is called when a transfer ends
   */
  BoundedExecutor(HandoffExecutor transferExecutor, int most, boolean tells) {
    this.transferExecutor = transferExecutor;
    this.most = most;
    this.tells = tells;
  }

  @Override
  public void execute(Runnable task) {
    queue.add(task);
    addTask();
  }

  /** Hands in a task. The caller's own task ends at once, unless it calls a listener first. */
  @Override
  public void executeNext(Runnable task) {
    if (tells) {
      execute(task);
    } else {
      queue.add(task);
    }
  }

  @Override
  public boolean tells() {
    return tells;
  }

  /** Starts the transfers that are ready. */
  void start() {
    int ready;
    synchronized (this) {
      started = true;
      ready = Math.min(most, queue.size());
    }
    for (int i = 0; i < ready; i++) {
      addTask();
    }
  }

  private void addTask() {
    synchronized (this) {
      if (!started || tasks == most) {
        return;
      }
      tasks++;
    }
    try {
      transferExecutor.execute(runNext);
    } catch (Throwable e) {
      taskFailed();
    }
  }

  /** Records that a task could not continue. The maintenance thread starts another one. */
  private void taskFailed() {
    synchronized (this) {
      tasks--;
    }
    leaveUnfinished();
  }

  @Override
  public void resume() {
    start();
  }

  /** Runs the next transfer of the list, if any. */
  private void runNext() {
    Runnable next;
    boolean more;
    try {
      synchronized (this) {
        next = SmallTransferBatch.next(queue);
        if (next == null) {
          tasks--;
          return;
        }
        more = !queue.isEmpty();
      }
    } catch (Throwable e) {
      taskFailed();
      return;
    }
    if (more) {
      addTask();
    }
    try {
      next.run();
    } finally {
      queueAgain();
    }
  }

  private void queueAgain() {
    try {
      transferExecutor.executeNext(runNext);
    } catch (Throwable e) {
      taskFailed();
    }
  }
}
