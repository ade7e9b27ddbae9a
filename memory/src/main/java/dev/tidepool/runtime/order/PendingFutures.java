package dev.tidepool.runtime.order;

import dev.tidepool.pool.CacheLinePadding;
import dev.tidepool.runtime.threads.StackReserve;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import org.jspecify.annotations.Nullable;

/**
 * Futures that a manager handed out and has not completed yet. Thread-safe.
 *
 * <p>A thread that adds a future puts it on a stack. A thread that removes one moves what is on the
 * stack to a list first, where it can be taken out of the middle. So threads that ask for work and
 * threads that end it share a cache line once for a group of futures, and not for each.
 */
public final class PendingFutures {

  /** A future's place, which takes no memory to add or to remove. */
  static final class Entry {
    private final CompletableFuture<?> future;
    // The one that was added before it; in the list, the one behind it.
    private @Nullable Entry next;

    private @Nullable Entry before;
    private boolean isListed;
    private boolean isRemoved;

    Entry(CompletableFuture<?> future) {
      this.future = future;
    }

    CompletableFuture<?> future() {
      return future;
    }
  }

  /** What was added since the list was last used. */
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

  /** The rest, linked both ways. Its monitor guards it, and the entries that are in it. */
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
      var _ = future.whenComplete((_, _) -> remove(entry));
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
    // A call that fails must not have kept it: nothing would withdraw it.
    StackReserve.check();
    added.push(entry);
  }

  /** Keeps a future no longer; nothing if it was removed before. */
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
   * Takes a future back that no caller has and that nothing will complete. Completes it, because a
   * thread may wait for it already.
   */
  void withdraw(Entry entry) {
    try {
      entry.future.complete(null);
    } finally {
      // Also where the heap is full: the next thread that waits must not find it.
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

  // Futures are told apart by identity, as they have no other equality.
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
      // Failures are its owner's business.
      future.handle((_, _) -> true).join();
    }
  }
}
