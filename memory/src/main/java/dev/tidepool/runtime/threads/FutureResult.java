package dev.tidepool.runtime.threads;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What a future is to complete with. It is there before the work begins, so that the future
 * completes although the heap is full when the work ends.
 */
public final class FutureResult<T> extends Resumable implements Runnable {
  private final CompletableFuture<T> future;
  private final Executor threads;
  private final Consumer<T> undo;
  private volatile @Nullable T result;
  private volatile @Nullable Throwable failure;

  /**
   * Creates a result that is not known yet.
   *
   * @param threads starts a thread for each task, which runs users' stages
   * @param undo takes the result if the future was cancelled meanwhile; may be called again
   */
  public FutureResult(CompletableFuture<T> future, Executor threads, Consumer<T> undo) {
    this.future = future;
    this.threads = threads;
    this.undo = undo;
  }

  /** Computes the result, or what it fails with. Completes nothing, and throws nothing. */
  public void compute(Supplier<T> work) {
    try {
      result = work.get();
    } catch (RuntimeException | Error e) {
      failure = e;
    }
  }

  /** Completes the future with what it has been given, on another thread, at once or later. */
  public void completeElsewhere() {
    try {
      resume();
    } catch (Throwable e) {
      leaveUnfinished();
    }
  }

  @Override
  public void resume() {
    threads.execute(this);
  }

  /** Completes the future with what it has been given. */
  @Override
  public void run() {
    try {
      complete();
    } catch (VirtualMachineError e) {
      leaveUnfinished();
    }
  }

  private void complete() {
    Throwable thrown = failure;
    if (thrown != null) {
      future.completeExceptionally(thrown);
      return;
    }
    T value = result;
    if (!future.complete(value) && !hasCompletedWith(value)) {
      undo.accept(value);
    }
  }

  /** Whether it completed the future before, and failed then in a stage that depends on it. */
  @SuppressWarnings("ReferenceEquality") // the very result is meant
  private boolean hasCompletedWith(@Nullable T value) {
    return future.state() == Future.State.SUCCESS && future.resultNow() == value;
  }
}
