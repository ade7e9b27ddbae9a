package dev.tidepool.runtime.order;

import dev.tidepool.runtime.threads.StackReserve;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;

/** Futures that a manager handed out and has not completed yet. Thread-safe. */
// Futures are told apart by identity, as they have no other equality.
@SuppressWarnings("CollectionUndefinedEquality")
public final class PendingFutures {
  private final Set<CompletableFuture<?>> open = ConcurrentHashMap.newKeySet();

  /** Keeps a future until it completes. */
  public <T> CompletableFuture<T> track(CompletableFuture<T> future) {
    add(future);
    boolean tracked = false;
    try {
      var _ = future.whenComplete((_, _) -> remove(future));
      tracked = true;
    } finally {
      if (!tracked) {
        withdraw(future);
      }
    }
    return future;
  }

  /**
   * Keeps a future until it is {@linkplain #remove removed} or {@linkplain #withdraw withdrawn}.
   */
  void add(CompletableFuture<?> future) {
    // A call that fails must not have kept it: nothing would withdraw it.
    StackReserve.check();
    boolean added = false;
    try {
      open.add(future);
      added = true;
    } finally {
      if (!added) {
        remove(future);
      }
    }
  }

  void remove(CompletableFuture<?> future) {
    open.remove(future);
  }

  /**
   * Takes a future back that no caller has and that nothing will complete. Completes it, because a
   * thread may wait for it already.
   */
  public void withdraw(CompletableFuture<?> future) {
    try {
      future.complete(null);
    } finally {
      // Also where the heap is full: the next thread that waits must not find it.
      remove(future);
    }
  }

  /** Waits for the futures that are kept now. */
  public void await() {
    for (CompletableFuture<?> future : open) {
      // Failures are its owner's business.
      future.handle((_, _) -> true).join();
    }
  }
}
