package dev.tidepool.runtime.transfers;

import dev.tidepool.runtime.buffer.SmallTransferBatch;
import dev.tidepool.runtime.threads.HandoffExecutor;
import dev.tidepool.runtime.threads.Resumable;
import dev.tidepool.runtime.threads.TransferExecutor;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Runs the transfers of one list on {@link TransferExecutor}, a bounded number of them at once. It
 * starts when the whole list has been handed in, so that small transfers are found together.
 *
 * <p>Each of the list's tasks there runs one transfer, then queues again behind what others ask
 * for. The monitor guards the number of tasks; a thread holds it while it takes from the queue.
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
   * Creates a list.
   *
   * @param most how many of its transfers are under way at once
   * @param tells whether a listener of the user's is called when one ends
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

  /** Called by a thread whose task ends at once, unless it calls a listener first. */
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

  /** Starts what is ready. */
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

  /** A task could not go on. The maintenance thread starts another one for what is ready. */
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

  /** Runs one transfer of the list. */
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
