package dev.tidepool.runtime.order;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/**
 * The future of an operation.
 *
 * <p>The body of a kernel that the operation waits for cannot wait for this future: {@code join()}
 * and {@code get()} throw instead of waiting forever. A failure is logged if the future becomes
 * unreachable before any code has waited for it, has asked for its result or has added a stage
 * ({@link UnseenFailure}). {@code allOf} and {@code anyOf} read a failure that is there already
 * without calling this object, so it is logged, too.
 */
public abstract class CheckedFuture extends CompletableFuture<Void> {
  private volatile boolean seen;
  private volatile @Nullable UnseenFailure failure;
  // The stages that afterEnd has added; guarded by the monitor.
  private int ownStages;

  /**
   * Checks that the calling thread may wait for the operation, and requests a prompt report of its
   * end.
   *
   * @throws IllegalStateException if the thread computes the body of a kernel that must end first
   */
  abstract void beginToAwait();

  /** Completes the future with the failure of its operation. */
  final void fail(Throwable thrown) {
    UnseenFailure unseen = new UnseenFailure(thrown);
    failure = unseen;
    boolean isAwaited;
    synchronized (this) {
      // CompletableFuture.allOf adds a stage without calling a method of this future.
      isAwaited = seen || getNumberOfDependents() > ownStages;
    }
    if (completeExceptionally(thrown) && !isAwaited) {
      unseen.watch(this);
    }
  }

  /** Adds a stage that does not count as code that looks at the result. */
  final <T> CompletableFuture<T> afterEnd(BiFunction<Object, @Nullable Throwable, T> stage) {
    synchronized (this) {
      ownStages++;
      return handle(stage);
    }
  }

  private void see() {
    seen = true;
    UnseenFailure unseen = failure;
    if (unseen != null) {
      unseen.see();
    }
  }

  @Override
  public @Nullable Void join() {
    see();
    beginToAwait();
    return super.join();
  }

  @Override
  public @Nullable Void get() throws InterruptedException, ExecutionException {
    see();
    beginToAwait();
    return super.get();
  }

  @Override
  public @Nullable Void get(long timeout, TimeUnit unit)
      throws InterruptedException, ExecutionException, TimeoutException {
    see();
    return super.get(timeout, unit);
  }

  @Override
  public @Nullable Void getNow(@Nullable Void valueIfAbsent) {
    see();
    return super.getNow(null);
  }

  @Override
  public @Nullable Void resultNow() {
    see();
    return super.resultNow();
  }

  @Override
  public Throwable exceptionNow() {
    see();
    return super.exceptionNow();
  }

  @Override
  public State state() {
    see();
    return super.state();
  }

  @Override
  public boolean isCompletedExceptionally() {
    see();
    return super.isCompletedExceptionally();
  }

  @Override
  public CompletableFuture<Void> toCompletableFuture() {
    see();
    return this;
  }

  @Override
  public CompletionStage<Void> minimalCompletionStage() {
    see();
    return super.minimalCompletionStage();
  }

  /** Called by each other method that adds a stage to this future. */
  @Override
  public <U> CompletableFuture<U> newIncompleteFuture() {
    // The thread that holds the monitor is in afterEnd.
    if (!Thread.holdsLock(this)) {
      see();
    }
    return super.newIncompleteFuture();
  }
}
