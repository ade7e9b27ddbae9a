package dev.tidepool.runtime.order;

import dev.tidepool.runtime.threads.FutureEnd;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The future of several parts that count as one operation. It completes when all parts have: with
 * the first failure in their order, else as cancelled if any part was cancelled. Cancelling stops
 * the parts that have not started. Parts that have started run to their end before this completes,
 * because the caller must not change arrays that are still in use.
 */
public final class CompositeFuture extends CheckedFuture {
  private final List<CompletableFuture<Void>> parts;
  private final FutureEnd end;

  private CompositeFuture(List<CompletableFuture<Void>> parts, Executor threads) {
    this.parts = parts;
    this.end =
        new FutureEnd(threads) {
          @Override
          protected void complete() {
            finish();
          }
        };
  }

  /**
   * Returns the future of some parts. The thread that completes the last part completes it.
   *
   * @param threads complete it if the heap is full at that moment
   */
  public static CompletableFuture<Void> of(List<CompletableFuture<Void>> parts, Executor threads) {
    if (parts.size() == 1) {
      return parts.getFirst();
    }
    CompositeFuture joint = new CompositeFuture(List.copyOf(parts), threads);
    AtomicInteger unfinished = new AtomicInteger(parts.size());
    for (CompletableFuture<Void> part : joint.parts) {
      var _ =
          part.whenComplete(
              (done, failure) -> {
                if (unfinished.decrementAndGet() == 0) {
                  joint.end.run();
                }
              });
    }
    return joint;
  }

  private void finish() {
    boolean stopped = false;
    for (CompletableFuture<Void> part : parts) {
      if (part.isCancelled()) {
        stopped = true;
      } else if (part.isCompletedExceptionally()) {
        fail(part.exceptionNow());
        return;
      }
    }
    if (stopped) {
      completeExceptionally(new CancellationException("cancelled before it ended"));
    } else {
      complete(null);
    }
  }

  @Override
  void beginToAwait() {
    for (CompletableFuture<Void> part : parts) {
      if (part instanceof CheckedFuture checked) {
        checked.beginToAwait();
      }
    }
  }

  @Override
  public boolean cancel(boolean mayInterruptIfRunning) {
    // In reverse: a part must not start on the incomplete result of a cancelled part before it.
    for (CompletableFuture<Void> part : parts.reversed()) {
      part.cancel(mayInterruptIfRunning);
    }
    return isCancelled();
  }
}
