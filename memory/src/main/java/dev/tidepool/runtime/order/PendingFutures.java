package dev.tidepool.runtime.order;

import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** Futures that a manager handed out and has not completed yet. Safe for use by any thread. */
final class PendingFutures {
  private final Map<Long, CompletableFuture<?>> open = new ConcurrentHashMap<>();
  private final AtomicLong numbers = new AtomicLong();

  <T> CompletableFuture<T> track(CompletableFuture<T> future) {
    long number = numbers.getAndIncrement();
    open.put(number, future);
    var _ = future.whenComplete((_, _) -> open.remove(number));
    return future;
  }

  void await() {
    for (CompletableFuture<?> future : open.values()) {
      // Failures are its owner's business.
      future.handle((_, _) -> true).join();
    }
  }
}
