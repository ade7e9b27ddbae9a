package dev.tidepool.runtime.order;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * The future of an operation. Waiting for it fails in the body of a kernel that the operation
 * itself waits for, instead of waiting forever.
 */
public abstract class CheckedFuture extends CompletableFuture<Void> {
  /**
   * Checks that the calling thread may wait for the work, and has the end told without delay.
   *
   * @throws IllegalStateException if it computes the body of a kernel that must end before
   */
  abstract void beginToAwait();

  @Override
  public @Nullable Void join() {
    beginToAwait();
    return super.join();
  }

  @Override
  public @Nullable Void get() throws InterruptedException, ExecutionException {
    beginToAwait();
    return super.get();
  }
}
