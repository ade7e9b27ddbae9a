package dev.tidepool.runtime.order;

import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * The future of one piece of work. Cancelling stops what has not started; what has started runs to
 * its end, and the future says so, for arrays must stay untouched until then.
 */
final class OperationFuture extends CheckedFuture {
  private final Operation work;

  private OperationFuture(Operation work) {
    this.work = work;
  }

  /**
   * Asks for the work. The future completes on a thread of {@code completions}.
   *
   * @param ended is run by the thread that ends the work, before the future completes
   */
  static CompletableFuture<Void> submit(Operation work, Executor completions, Runnable ended) {
    try {
      return reserve(work, completions, ended);
    } finally {
      work.begin();
    }
  }

  /** Asks for the work, which does not start before it is told to {@link Operation#begin}. */
  static CompletableFuture<Void> reserve(Operation work, Executor completions, Runnable ended) {
    OperationFuture future = new OperationFuture(work);
    Completion completion = new Completion(future, completions, ended);
    work.reserve(completion::begin);
    return future;
  }

  /** The end of a future, which comes although the heap is full now. */
  private static final class Completion extends Resumable implements Runnable {
    private final OperationFuture future;
    private final Executor completions;
    private final Runnable ended;
    private volatile @Nullable Throwable failure;

    Completion(OperationFuture future, Executor completions, Runnable ended) {
      this.future = future;
      this.completions = completions;
      this.ended = ended;
    }

    void begin(@Nullable Throwable thrown) {
      failure = thrown;
      try {
        ended.run();
      } finally {
        resume();
      }
    }

    @Override
    public void resume() {
      completions.execute(this);
    }

    @Override
    public void run() {
      try {
        future.ended(failure);
      } catch (VirtualMachineError e) {
        leaveUnfinished();
      }
    }
  }

  private void ended(@Nullable Throwable failure) {
    if (failure != null) {
      completeExceptionally(failure);
    } else if (work.hasStarted()) {
      complete(null);
    } else {
      // Its turn came before who stopped it could say so here.
      stopped();
    }
  }

  private void stopped() {
    completeExceptionally(new CancellationException("cancelled before it started"));
  }

  @Override
  void checkMayAwait() {
    if (!isDone()) {
      KernelBody.checkMayAwait(work);
    }
  }

  @Override
  public boolean cancel(boolean mayInterruptIfRunning) {
    if (work.cancel()) {
      stopped();
    }
    return isCancelled();
  }
}
