package dev.tidepool.runtime.threads;

import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Completes the futures of single operations, on threads that users' stages may block. One thread
 * completes the futures that have no dependent stages, one after another. Before it completes a
 * future that has some, it hands the rest of the queue to another thread.
 *
 * <p>It completes each {@link dev.tidepool.runtime.order.OperationFuture}. The package's
 * documentation lists which threads complete other futures.
 *
 * <p>A stage may be attached between that check and the completion, and may block. So the
 * maintenance thread starts another thread if no future was completed since its last check.
 * Thread-safe.
 */
public final class FutureCompleter extends Resumable {
  /** The end of a future. */
  public interface Completion {
    /** Returns whether dependent stages are attached, which run when the future completes. */
    boolean hasDependents();

    /** Completes the future. Does not throw. */
    void run();
  }

  private final Executor threads;
  private final ConcurrentLinkedQueue<Completion> queue = new ConcurrentLinkedQueue<>();
  private final AtomicBoolean worked = new AtomicBoolean();
  private final AtomicInteger completed = new AtomicInteger();
  // Used only by the maintenance thread.
  private int seen;

  /**
   * Creates a completer without futures.
   *
   * @param threads starts a thread for each task
   */
  public FutureCompleter(Executor threads) {
    this.threads = threads;
  }

  /** Returns the executor that starts a thread for each task. */
  public Executor threads() {
    return threads;
  }

  /** Queues the completion of a future, and starts a thread for it if none is active. */
  public void add(Completion completion) {
    queue.add(completion);
    if (worked.compareAndSet(false, true)) {
      resume();
    }
  }

  /** Starts a thread that completes the queued futures, at once or a little later. */
  @Override
  public void resume() {
    try {
      threads.execute(this::work);
    } catch (Throwable e) {
      leaveUnfinished();
    }
  }

  /** Starts another thread if futures wait and none was completed since the last call. */
  public void check() {
    int now = completed.get();
    if (now == seen && !queue.isEmpty()) {
      resume();
    }
    seen = now;
  }

  private void work() {
    for (Completion next = queue.poll(); next != null; next = queue.poll()) {
      if (next.hasDependents()) {
        // Its stages may take long, or wait for a future behind it in the queue.
        if (queue.isEmpty()) {
          release();
        } else {
          resume();
        }
        next.run();
        completed.incrementAndGet();
        return;
      }
      next.run();
      completed.incrementAndGet();
    }
    release();
  }

  private void release() {
    worked.set(false);
    if (!queue.isEmpty() && worked.compareAndSet(false, true)) {
      resume();
    }
  }
}
