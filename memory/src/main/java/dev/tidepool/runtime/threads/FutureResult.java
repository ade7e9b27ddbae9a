package dev.tidepool.runtime.threads;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The end of a future that completes with the result or the failure of some work. */
public final class FutureResult<T> extends FutureEnd {
  private final CompletableFuture<T> future;
  private final Consumer<T> undo;
  private volatile @Nullable T result;
  private volatile @Nullable Throwable failure;

  /**
   * Creates the end of a future whose result is not known yet.
   *
   * @param threads starts a thread for each task, which runs users' stages
   * @param undo receives the result if the future was cancelled meanwhile; may be called again
   */
  public FutureResult(CompletableFuture<T> future, Executor threads, Consumer<T> undo) {
    super(threads);
    this.future = future;
    this.undo = undo;
  }

  /** Computes the result or the failure. Completes nothing, and throws nothing. */
  public void compute(Supplier<T> work) {
    try {
      result = work.get();
    } catch (RuntimeException | Error e) {
      failure = e;
    }
  }

  @Override
  protected void complete() {
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

  /** Returns whether an earlier call completed the future and then failed in a dependent stage. */
  @SuppressWarnings("ReferenceEquality") // the very result is meant
  private boolean hasCompletedWith(@Nullable T value) {
    return future.state() == Future.State.SUCCESS && future.resultNow() == value;
  }
}
