package dev.tidepool.runtime.order;

import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;

/** Futures that a manager handed out and has not completed yet. Safe for use by any thread. */
// Futures are told apart by identity, as they have no other equality.
@SuppressWarnings("CollectionUndefinedEquality")
final class PendingFutures {
  private final Set<CompletableFuture<?>> open = ConcurrentHashMap.newKeySet();

  /** Keeps a future until it completes. */
  <T> CompletableFuture<T> track(CompletableFuture<T> future) {
    add(future);
    boolean tracked = false;
    try {
      var _ = future.whenComplete((_, _) -> remove(future));
      tracked = true;
    } finally {
      if (!tracked) {
        remove(future);
      }
    }
    return future;
  }

  /** Keeps a future until it is removed. */
  void add(CompletableFuture<?> future) {
    open.add(future);
  }

  void remove(CompletableFuture<?> future) {
    open.remove(future);
  }

  void await() {
    for (CompletableFuture<?> future : open) {
      // Failures are its owner's business.
      future.handle((_, _) -> true).join();
    }
  }
}
