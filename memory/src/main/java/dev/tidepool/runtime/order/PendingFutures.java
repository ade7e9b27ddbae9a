package dev.tidepool.runtime.order;

import dev.tidepool.pool.CacheLinePadding;
import dev.tidepool.runtime.threads.StackReserve;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/**
 * The futures that a manager handed out and that have not completed. Thread-safe.
 *
 * <p>A thread that adds a future pushes it on a stack. A thread that removes one first moves the
 * stack to a linked list, which allows removal from the middle. So threads that submit operations
 * and threads that end them share a cache line once for a group of futures, not for each future.
 */
public final class PendingFutures {

  /** The entry of a future. Adding and removing it allocates nothing. */
  static final class Entry {
    final CompletableFuture<?> future;
    // On the stack, the entry that was added before; in the list, the one behind.
    private @Nullable Entry next;

    private @Nullable Entry before;
    private boolean isListed;
    private boolean isRemoved;

    Entry(CompletableFuture<?> future) {
      this.future = future;
    }
  }

  /** The futures that were added since the list was last used. */
  private static final class Stack extends CacheLinePadding {
    private static final AtomicReferenceFieldUpdater<Stack, @Nullable Entry> TOP =
        AtomicReferenceFieldUpdater.newUpdater(Stack.class, Entry.class, "top");

    private volatile @Nullable Entry top;

    void push(Entry entry) {
      Entry seen;
      do {
        seen = top;
        entry.next = seen;
      } while (!TOP.compareAndSet(this, seen, entry));
    }

    @Nullable Entry takeAll() {
      return TOP.getAndSet(this, null);
    }
  }

  /** The other futures, doubly linked. Its monitor guards the list and the entries in it. */
  private static final class Linked extends CacheLinePadding {
    private @Nullable Entry first;

    void addAll(@Nullable Entry top) {
      for (Entry entry = top; entry != null; ) {
        Entry next = entry.next;
        entry.isListed = true;
        entry.next = first;
        if (first != null) {
          first.before = entry;
        }
        first = entry;
        entry = next;
      }
    }

    void remove(Entry entry) {
      Entry before = entry.before;
      Entry next = entry.next;
      if (before == null) {
        first = next;
      } else {
        before.next = next;
      }
      if (next != null) {
        next.before = before;
      }
      entry.next = null;
      entry.before = null;
      entry.isRemoved = true;
    }
  }

  private final Stack added = new Stack();
  private final Linked listed = new Linked();

  /** Keeps a future until it completes. */
  public <T> CompletableFuture<T> track(CompletableFuture<T> future) {
    Entry entry = new Entry(future);
    add(entry);
    boolean tracked = false;
    try {
      var _ = afterEnd(future, () -> remove(entry));
      tracked = true;
    } finally {
      if (!tracked) {
        withdraw(entry);
      }
    }
    return future;
  }

  /**
   * Keeps a future until it is {@linkplain #remove removed} or {@linkplain #withdraw withdrawn}.
   */
  void add(Entry entry) {
    // If a call fails, the future must not be kept: no thread would withdraw it.
    StackReserve.check();
    added.push(entry);
  }

  /** Removes a future; does nothing if it was removed before. */
  void remove(Entry entry) {
    synchronized (listed) {
      if (!entry.isListed) {
        listed.addAll(added.takeAll());
      }
      if (!entry.isRemoved) {
        listed.remove(entry);
      }
    }
  }

  /**
   * Removes a future that no caller has and that nothing will complete. Completes it, because a
   * thread may already wait for it.
   */
  void withdraw(Entry entry) {
    try {
      entry.future.complete(null);
    } finally {
      // Also if the heap is full: the next thread that waits must not find the future.
      remove(entry);
    }
  }

  /** Withdraws a future that was {@linkplain #track tracked}. */
  public void withdraw(CompletableFuture<?> future) {
    try {
      future.complete(null);
    } finally {
      Entry entry = find(future);
      if (entry != null) {
        remove(entry);
      }
    }
  }

  // Futures are compared by identity, as they have no other equality.
  @SuppressWarnings("UndefinedEquals")
  private @Nullable Entry find(CompletableFuture<?> future) {
    synchronized (listed) {
      listed.addAll(added.takeAll());
      Entry entry = listed.first;
      while (entry != null && !entry.future.equals(future)) {
        entry = entry.next;
      }
      return entry;
    }
  }

  /** Waits for the futures that are kept now. */
  public void await() {
    List<CompletableFuture<?>> kept = new ArrayList<>();
    synchronized (listed) {
      listed.addAll(added.takeAll());
      for (Entry entry = listed.first; entry != null; entry = entry.next) {
        kept.add(entry.future);
      }
    }
    for (CompletableFuture<?> future : kept) {
      var _ = afterEnd(future, () -> {}).join();
    }
  }

  /**
   * Adds a stage that ignores the result. The owner of the future handles a failure. The stage
   * needs no free heap when it completes.
   */
  private static CompletableFuture<Boolean> afterEnd(CompletableFuture<?> future, Runnable action) {
    BiFunction<Object, @Nullable Throwable, Boolean> stage =
        (_, _) -> {
          action.run();
          return true;
        };
    return future instanceof CheckedFuture checked ? checked.afterEnd(stage) : future.handle(stage);
  }
}
