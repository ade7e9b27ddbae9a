package dev.tidepool.runtime.order;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;

/** A future of work: the body of a kernel that would wait for it in vain is told so. */
abstract class CheckedFuture extends CompletableFuture<Void> {
  /**
   * Checks that the calling thread may wait for the work.
   *
   * @throws IllegalStateException if it computes the body of a kernel that must end before
   */
  abstract void checkMayAwait();

  @Override
  public @Nullable Void join() {
    checkMayAwait();
    return super.join();
  }

  @Override
  public @Nullable Void get() throws InterruptedException, ExecutionException {
    checkMayAwait();
    return super.get();
  }
}
