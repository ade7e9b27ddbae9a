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
 * Frees memory for one request that others use: it waits for them. An operation behind the work
 * that uses each buffer gives its memory up. The request waits as long as that work goes on and
 * does not wait for memory itself, ten seconds at most. It waits one second at most for buffers
 * that are lent or mapped, because the end of that is unknown. Not thread-safe.
 *
 * <p>It waits without polling; see {@link MemoryWaiters}. After each change only what was released
 * is looked at. The exception is the end: memory that a thread has just taken, or is about to give
 * back, may be seen nowhere for a moment. So the wait ends only after a search of all buffers that
 * began when no help was to come, found nothing, and during which nothing was freed.
 */
final class ReleaseWait implements AutoCloseable {
  private static final long WAIT_NANOS = 10_000_000_000L;
  private static final long HELD_WAIT_NANOS = 1_000_000_000L;
  private static final long TAKING_WAIT_NANOS = 1_000_000_000L;

  /**
   * The longest time, unless the processor is busy, from the moment when a thread takes a block
   * until other threads see which buffer has it. The thread notifies no other thread, because that
   * would cost each allocation.
   */
  private static final long TAKING_NANOS = 1_000_000;

  /** Buffers that are asked for at once, since it is not known which will be idle first. */
  private static final int MOST_ASKED = 64;

  /**
   * Searches of all buffers that may end with nothing. Those of several requests that all find
   * nothing look like changes to each other.
   */
  private static final int MOST_VAIN_SEARCHES = 32;

  private final StorageContext context;
  private final Reclaimer reclaimer;
  private final MemoryRequest<?> request;
  private final Eviction eviction;
  private final List<Asked> asked = new ArrayList<>();
  private MemoryWaiters.@Nullable Waiter waiter;
  private boolean searches;
  // Whether all buffers were searched since help was last to come, and gave nothing.
  private boolean searchedInVain;
  private int vainSearches;
  private boolean waitsForHeld;
  private boolean stopped;
  private boolean over;
  private long start;
  // When help was last to come, or a search freed something.
  private long lastHelp;

  /** An operation that was asked to give a storage's memory up, behind what uses it. */
  private record Asked(Storage storage, Operation operation) {}

  ReleaseWait(
      StorageContext context, Reclaimer reclaimer, MemoryRequest<?> request, Eviction eviction) {
    this.context = context;
    this.reclaimer = reclaimer;
    this.request = request;
    this.eviction = eviction;
  }

  /** Waits until something may have become free; see {@link RecoveryStrategy#free}. */
  long free(long bytes) {
    if (over) {
      return 0;
    }
    if (waiter == null) {
      // A thread that fails must not stay among the waiters.
      StackReserve.check();
      // Before the search: what is released from here on is told to the waiter.
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
    long longest = longestWait(left);
    if (longest == 0) {
      return awaitNoHelp(waiter);
    }
    searchedInVain = false;
    MemoryWaiters.Changes changes = waiter.await(longest);
    if (changes.missed()) {
      beginSearch();
    } else if (!changes.released().isEmpty()) {
      var _ = going(() -> free(changes.released()));
    }
    return 1;
  }

  /** Returns how long it waits now for what frees memory; 0 if nothing will. */
  private long longestWait(long left) {
    if (helpComes()) {
      lastHelp = System.nanoTime();
      return left;
    }
    long heldLeft = left - WAIT_NANOS + HELD_WAIT_NANOS;
    if (heldLeft > 0 && reclaimer.anyStorage(this::isHeldForNow)) {
      waitsForHeld = true;
      return heldLeft;
    }
    return System.nanoTime() - lastHelp < TAKING_WAIT_NANOS && reclaimer.anyBlockInTransition()
        ? TAKING_NANOS
        : 0;
  }

  /** No help comes: searches once more, and ends if that finds nothing. */
  private long awaitNoHelp(MemoryWaiters.Waiter waiter) {
    // A thread that has freed memory tells of it a moment later.
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

  /** An operation has let go of these storages, and what comes behind it may not have begun. */
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

  /** Nothing helps any more; what has become idle is looked at once more. */
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

  /**
   * Returns whether work will end that has what was asked for, or the memory of further buffers.
   */
  private boolean helpComes() {
    return goesOn()
        || (askForMore() && goesOn())
        || asked.stream().anyMatch(each -> each.operation().isItsTurn())
        || reclaimer.anyStorage(this::isInTransit);
  }

  /**
   * Returns whether work will end that has what was asked for. If all of that waits, it may wait
   * for other work, which goes on.
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

  /** Asks for further buffers that others use now; whether there are any. */
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

  /** Returns whether all memory of a storage goes back when the work on it has ended. */
  private boolean isClosing(Storage storage) {
    return request.concerns(storage.context()) && storage.lifetime().isClosing();
  }

  /** Lets other requests count the work of this one as waiting for memory. */
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
   * Moves bytes. Meanwhile other requests do not count the work of this one as waiting, because it
   * will let go of what it moves.
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

  /**
   * Ends the wait. Makes no object: an error here would lose the block that the request has got.
   */
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
