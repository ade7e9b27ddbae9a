package dev.tidepool.runtime.reclaim;

import dev.tidepool.runtime.order.MemoryWaiters;
import dev.tidepool.runtime.order.Operation;
import dev.tidepool.runtime.order.UseState;
import dev.tidepool.runtime.storage.SpillFile;
import dev.tidepool.runtime.storage.Storage;
import dev.tidepool.runtime.storage.StorageContext;
import dev.tidepool.runtime.threads.StackReserve;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Waits for memory that other operations use, for one request. It queues an operation that frees
 * each buffer's memory behind the operations that use it. The request waits while these run and do
 * not wait for memory themselves, and then at most one second for buffers that are lent or mapped,
 * because their end is unknown; at most ten seconds in all. Not thread-safe.
 *
 * <p>It waits without polling; see {@link MemoryWaiters}. After each change only the released
 * storages are examined. The exception is the end: memory that a thread has just taken, or is about
 * to release, may be visible nowhere for a moment. So the wait ends only after a search of all
 * buffers that began when no release was expected, found nothing, and during which no memory was
 * freed.
 */
final class ReleaseWait implements AutoCloseable {
  private static final long WAIT_NANOS = 10_000_000_000L;
  private static final long HELD_WAIT_NANOS = 1_000_000_000L;
  private static final long TAKING_WAIT_NANOS = 1_000_000_000L;

  /**
   * The maximum time, unless the processor is busy, until other threads see which buffer has a
   * block that a thread has taken. The thread notifies no other thread, because that would cost
   * each allocation.
   */
  private static final long TAKING_NANOS = 1_000_000;

  /** The most buffers to request at once, because it is unknown which is idle first. */
  private static final int MOST_ASKED = 64;

  /**
   * Maximum of searches of all buffers without a result. Concurrent searches of several requests
   * look like changes to each other.
   */
  private static final int MOST_VAIN_SEARCHES = 32;

  private final StorageContext context;
  private final Reclaimer reclaimer;
  private final MemoryRequest<?> request;
  private final Eviction eviction;
  private final List<Asked> asked = new ArrayList<>();
  private MemoryWaiters.@Nullable Waiter waiter;
  private boolean searches;
  // Whether a search of all buffers found nothing since a release was last expected.
  private boolean searchedInVain;
  private int vainSearches;
  private boolean waitsForHeld;
  private boolean stopped;
  private boolean over;
  private long start;
  // When a release was last expected, or a search freed memory.
  private long lastHelp;

  /** An operation that frees a storage's memory, queued behind the operations that use it. */
  private record Asked(Storage storage, Operation operation) {}

  ReleaseWait(
      StorageContext context, Reclaimer reclaimer, MemoryRequest<?> request, Eviction eviction) {
    this.context = context;
    this.reclaimer = reclaimer;
    this.request = request;
    this.eviction = eviction;
  }

  /** Waits until memory may have been freed; see {@link RecoveryStrategy#free}. */
  long free(long bytes) {
    if (over) {
      return 0;
    }
    if (waiter == null) {
      // A thread that fails must not stay among the waiters.
      StackReserve.check();
      // Before the search: the waiter is notified of all releases from here on.
      waiter = context.waiters().enter(context.device());
      start = System.nanoTime();
      lastHelp = start;
      beginSearch();
      return 1;
    }
    if (searches) {
      long freed = going(() -> search(bytes));
      if (freed > 0) {
        helped();
        return freed;
      }
      searches = false;
    }
    return await(waiter);
  }

  private void beginSearch() {
    searches = true;
    eviction.restart();
  }

  private long search(long bytes) {
    long freed = eviction.free(bytes);
    return freed > 0 ? freed : eviction.freeQueued(bytes);
  }

  private void helped() {
    lastHelp = System.nanoTime();
    searchedInVain = false;
    vainSearches = 0;
  }

  private long await(MemoryWaiters.Waiter waiter) {
    stop();
    long left = WAIT_NANOS - (System.nanoTime() - start);
    if (left <= 0) {
      return end();
    }
    boolean helpComes = helpComes();
    long longest = helpComes ? left : Math.min(left, longestWaitWithoutHelp());
    if (longest == 0) {
      return awaitNoHelp(waiter);
    }
    searchedInVain = false;
    MemoryWaiters.Changes changes = waiter.await(longest);
    if (helpComes) {
      lastHelp = System.nanoTime();
    }
    if (changes.missed()) {
      beginSearch();
    } else if (!changes.released().isEmpty()) {
      var _ = going(() -> free(changes.released()));
    }
    return 1;
  }

  /** Returns how long to wait although no release is expected; 0 if the wait must end. */
  private long longestWaitWithoutHelp() {
    long withoutHelp = System.nanoTime() - lastHelp;
    if (withoutHelp < HELD_WAIT_NANOS && reclaimer.anyStorage(this::isHeldForNow)) {
      waitsForHeld = true;
      return HELD_WAIT_NANOS - withoutHelp;
    }
    return withoutHelp < TAKING_WAIT_NANOS && reclaimer.anyBlockInTransition() ? TAKING_NANOS : 0;
  }

  /** Searches once more, because no release is expected, and ends if that finds nothing. */
  private long awaitNoHelp(MemoryWaiters.Waiter waiter) {
    // A thread that has freed memory notifies the waiter a moment later.
    MemoryWaiters.Changes changes = waiter.await(searchedInVain ? TAKING_NANOS : 0);
    if (searchedInVain && !changes.anyFreed()) {
      return end();
    }
    vainSearches++;
    if (vainSearches > MOST_VAIN_SEARCHES) {
      return end();
    }
    searchedInVain = true;
    beginSearch();
    return 1;
  }

  /** Frees memory of released storages, which the next operation may not have begun to use. */
  private long free(List<Object> released) {
    long freed = 0;
    for (Object each : released) {
      if (freed < request.bytes()
          && each instanceof Storage storage
          && request.concerns(storage.context())) {
        freed += eviction.freeQueued(storage);
      }
    }
    return freed;
  }

  /** Ends the wait after a last search of idle buffers. */
  private long end() {
    over = true;
    if (!asked.isEmpty()) {
      request.tried("waited for buffers that are in use");
    }
    if (waitsForHeld) {
      request.tried("waited for buffers that are lent or mapped");
    }
    eviction.restart();
    return going(() -> eviction.free(request.bytes()));
  }

  /** Returns whether operations will release the requested buffers or further ones. */
  private boolean helpComes() {
    return goesOn()
        || (askForMore() && goesOn())
        || asked.stream().anyMatch(each -> each.operation().isItsTurn())
        || reclaimer.anyStorage(this::isInTransit);
  }

  /**
   * Returns whether operations will release the requested buffers. If all of them wait, they may
   * wait for other operations that are running.
   */
  private boolean goesOn() {
    boolean anyWaits = false;
    for (Asked each : asked) {
      UseState.Users users = each.storage().useState().others();
      if (users == UseState.Users.GOING_ON) {
        return true;
      }
      anyWaits |= users == UseState.Users.WAITING;
    }
    return anyWaits && reclaimer.anyWorkGoesOn();
  }

  private boolean isInTransit(Storage storage) {
    return request.concerns(storage.context()) && storage.isInTransit();
  }

  private boolean isHeldForNow(Storage storage) {
    return request.concerns(storage.context())
        && storage.isHeldForNow()
        && (!storage.isOpen() || request.wouldHelp(storage.core()));
  }

  /** Requests further buffers that other operations use now; returns whether there are any. */
  private boolean askForMore() {
    int before = asked.size();
    for (Storage storage : reclaimer.busy(request.isOwnOnly())) {
      if (asked.size() == MOST_ASKED) {
        break;
      }
      if (storage.useState().others() != UseState.Users.NONE
          && asked.stream().noneMatch(each -> each.storage() == storage)) {
        ask(storage);
      }
    }
    return asked.size() > before;
  }

  private void ask(Storage storage) {
    SpillFile spilling = storage.context().spilling();
    if (request.evictionHelps(storage) || isClosing(storage)) {
      asked.add(new Asked(storage, new DeviceEviction(storage).request()));
    } else if (spilling != null && request.spillingHelps(storage)) {
      asked.add(new Asked(storage, new Spill(storage, spilling).request()));
    }
  }

  /** Returns whether all memory of a storage is freed when the operations on it have ended. */
  private boolean isClosing(Storage storage) {
    return request.concerns(storage.context()) && storage.lifetime().isClosing();
  }

  /** Reports that the operation of this request waits for memory. */
  private void stop() {
    if (request.isInWork() && !stopped) {
      stopped = true;
      context.waiters().beginBlocked();
    }
  }

  private void goOn() {
    if (stopped) {
      stopped = false;
      context.waiters().endBlocked();
    }
  }

  /**
   * Moves bytes. Meanwhile the operation of this request does not count as waiting, because it will
   * release the memory that it moves.
   */
  private long going(LongSupplier move) {
    boolean before = stopped;
    goOn();
    try {
      return move.getAsLong();
    } finally {
      if (before) {
        stop();
      }
    }
  }

  /** Ends the wait. Creates no object: an error here would lose the block of the request. */
  @Override
  public void close() {
    goOn();
    if (waiter != null) {
      waiter.close();
    }
    for (int i = 0; i < asked.size(); i++) {
      asked.get(i).operation().cancel();
    }
  }
}
