package dev.tidepool.runtime;

import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/**
 * The future of one piece of work. Cancelling stops what has not started; what has started runs to
 * its end, and the future says so, for arrays must stay untouched until then.
 */
final class OperationFuture extends CompletableFuture<Void> {
  private final Work work;

  private OperationFuture(Work work) {
    this.work = work;
  }

  /** Asks for the work. The future completes on a thread of {@code completions}. */
  static CompletableFuture<Void> submit(Work work, Executor completions) {
    CompletableFuture<Void> future = reserve(work, completions);
    work.begin();
    return future;
  }

  /** Asks for the work, which does not start before it is told to {@link Work#begin}. */
  static CompletableFuture<Void> reserve(Work work, Executor completions) {
    OperationFuture future = new OperationFuture(work);
    work.reserve(
        failure ->
            completions.execute(
                () -> {
                  if (failure == null) {
                    future.complete(null);
                  } else {
                    future.completeExceptionally(failure);
                  }
                }));
    return future;
  }

  @Override
  public boolean cancel(boolean mayInterruptIfRunning) {
    if (work.cancel()) {
      completeExceptionally(new CancellationException("cancelled before it started"));
    }
    return isCancelled();
  }
}
