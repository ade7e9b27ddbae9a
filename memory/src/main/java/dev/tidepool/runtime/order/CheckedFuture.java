package dev.tidepool.runtime.order;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * The future of an operation. The body of a kernel that the operation waits for cannot wait for
 * this future: {@code join()} and {@code get()} throw instead of waiting forever.
 */
public abstract class CheckedFuture extends CompletableFuture<Void> {
  /**
   * Checks that the calling thread may wait for the operation, and requests a prompt report of its
   * end.
   *
   * @throws IllegalStateException if the thread computes the body of a kernel that must end first
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
