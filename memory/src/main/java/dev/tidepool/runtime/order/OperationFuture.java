package dev.tidepool.runtime.order;

import dev.tidepool.runtime.threads.FutureCompleter;
import dev.tidepool.runtime.threads.FutureEnd;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The future of one operation. Cancelling stops an operation that has not started. An operation
 * that has started runs to its end before the future completes, because the caller must not change
 * arrays that are still in use.
 */
public final class OperationFuture extends CheckedFuture {
  private final Operation operation;

  private OperationFuture(Operation operation) {
    this.operation = operation;
  }

  /**
   * Submits the operation. A thread of {@code completer} completes the future.
   *
   * @param pending keeps the future until it completes
   * @param ended is run by the thread that ends the operation, before the future completes
   */
  public static CompletableFuture<Void> submit(
      Operation operation, FutureCompleter completer, PendingFutures pending, Runnable ended) {
    try {
      return reserve(operation, completer, pending, ended);
    } finally {
      operation.begin();
    }
  }

  /** Like {@link #submit}, but the operation does not start before {@link Operation#begin}. */
  public static CompletableFuture<Void> reserve(
      Operation operation, FutureCompleter completer, PendingFutures pending, Runnable ended) {
    OperationFuture future = new OperationFuture(operation);
    Completion completion = new Completion(future, completer, pending, ended);
    pending.add(completion.entry);
    try {
      operation.reserve(completion);
    } finally {
      if (!operation.hasEntered()) {
        pending.withdraw(completion.entry);
      }
    }
    return future;
  }

  /** The end of a future, which a {@link FutureCompleter} completes. */
  private static final class Completion extends FutureEnd
      implements FutureCompleter.Completion, Consumer<@Nullable Throwable> {
    private final OperationFuture future;
    private final FutureCompleter completer;
    private final PendingFutures pending;
    private final PendingFutures.Entry entry;
    private final Runnable ended;
    private volatile @Nullable Throwable failure;

    Completion(
        OperationFuture future, FutureCompleter completer, PendingFutures pending, Runnable ended) {
      super(completer.threads());
      this.future = future;
      this.completer = completer;
      this.pending = pending;
      this.entry = new PendingFutures.Entry(future);
      this.ended = ended;
    }

    /** Handles the end of the operation. */
    @Override
    public void accept(@Nullable Throwable thrown) {
      failure = thrown;
      try {
        ended.run();
      } finally {
        completer.add(this);
      }
    }

    @Override
    public boolean hasDependents() {
      return future.getNumberOfDependents() > 0;
    }

    @Override
    protected void complete() {
      future.ended(failure);
      pending.remove(entry);
    }
  }

  private void ended(@Nullable Throwable failure) {
    if (failure != null) {
      fail(failure);
    } else if (operation.hasStarted()) {
      complete(null);
    } else {
      // The turn came before the thread that cancelled the operation could complete the future.
      stopped();
    }
  }

  private void stopped() {
    completeExceptionally(new CancellationException("cancelled before it started"));
  }

  @Override
  void beginToAwait() {
    if (!isDone()) {
      KernelBody.checkMayAwait(operation);
      operation.hurry();
    }
  }

  @Override
  public boolean cancel(boolean mayInterruptIfRunning) {
    if (operation.cancel()) {
      stopped();
    }
    return isCancelled();
  }
}
