package dev.tidepool.runtime.threads;

import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Completes futures on threads that users' stages may block. One thread completes the futures that
 * have no dependent stages, one after another. Before it completes a future that has some, it hands
 * the rest of the queue to another thread. Two completions do not come here: a future that is
 * cancelled completes on the thread that cancels it, and a future of several parts on the thread
 * that completes the last part.
 *
 * <p>A stage may be attached in the moment between that check and the completion, and may block. So
 * the maintenance thread has another thread go on where nothing was completed since it looked last.
 * Safe for use by any thread.
 */
public final class FutureCompleter extends Resumable {
  /** The end of a future. */
  public interface Completion {
    /** Whether to complete it runs what others attached. */
    boolean hasDependents();

    /** Completes it. Does not throw. */
    void complete();
  }

  private final Executor threads;
  private final ConcurrentLinkedQueue<Completion> queue = new ConcurrentLinkedQueue<>();
  private final AtomicBoolean worked = new AtomicBoolean();
  private final AtomicInteger completed = new AtomicInteger();
  // Of the maintenance thread.
  private int seen;

  /**
   * Nothing is to be completed.
   *
   * @param threads starts a thread for each task
   */
  public FutureCompleter(Executor threads) {
    this.threads = threads;
  }

  /** Has a future completed. */
  public void add(Completion completion) {
    queue.add(completion);
    if (worked.compareAndSet(false, true)) {
      resume();
    }
  }

  /** Starts a thread that completes what is there, at once or a little later. */
  @Override
  public void resume() {
    try {
      threads.execute(this::work);
    } catch (Throwable e) {
      leaveUnfinished();
    }
  }

  /** Starts another thread if futures wait and none was completed since this was called last. */
  void check() {
    int now = completed.get();
    if (now == seen && !queue.isEmpty()) {
      resume();
    }
    seen = now;
  }

  private void work() {
    for (Completion next = queue.poll(); next != null; next = queue.poll()) {
      if (next.hasDependents()) {
        // What hangs on it may take long, or wait for a future behind it.
        if (queue.isEmpty()) {
          release();
        } else {
          resume();
        }
        next.complete();
        completed.incrementAndGet();
        return;
      }
      next.complete();
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
