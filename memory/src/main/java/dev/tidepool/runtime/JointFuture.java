package dev.tidepool.runtime;

import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Several parts that count as one operation: done when all are, failed with the first failure in
 * their order. Cancelling cancels the parts that have not started; the operation counts as
 * cancelled only if its last part was stopped.
 */
final class JointFuture extends CompletableFuture<Void> {
  private final List<CompletableFuture<Void>> parts;

  private JointFuture(List<CompletableFuture<Void>> parts) {
    this.parts = parts;
  }

  static CompletableFuture<Void> of(List<CompletableFuture<Void>> parts) {
    if (parts.size() == 1) {
      return parts.getFirst();
    }
    JointFuture joint = new JointFuture(List.copyOf(parts));
    AtomicInteger unfinished = new AtomicInteger(parts.size());
    for (CompletableFuture<Void> part : joint.parts) {
      var _ =
          part.whenComplete(
              (done, failure) -> {
                if (unfinished.decrementAndGet() == 0) {
                  joint.finish();
                }
              });
    }
    return joint;
  }

  private void finish() {
    for (CompletableFuture<Void> part : parts) {
      if (part.isCompletedExceptionally() && !part.isCancelled()) {
        completeExceptionally(part.exceptionNow());
        return;
      }
    }
    complete(null);
  }

  @Override
  public boolean cancel(boolean mayInterruptIfRunning) {
    boolean stopped = false;
    for (CompletableFuture<Void> part : parts) {
      stopped = part.cancel(mayInterruptIfRunning);
    }
    if (stopped) {
      completeExceptionally(new CancellationException("cancelled before it ended"));
    }
    return isCancelled();
  }
}
