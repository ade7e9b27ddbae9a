package dev.tidepool.runtime.reclaim;

import dev.tidepool.runtime.order.MemoryWaiters;
import dev.tidepool.runtime.order.Operation;
import dev.tidepool.runtime.order.PinState;
import dev.tidepool.runtime.order.StackReserve;
import dev.tidepool.runtime.storage.SpillStore;
import dev.tidepool.runtime.storage.Storage;
import dev.tidepool.runtime.storage.StorageContext;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Frees memory for one request that others use: it waits for them. An operation behind the work
 * that uses each buffer gives its memory up. The request waits as long as that work goes on and
 * does not wait for memory itself, ten seconds at most. For one thread.
 *
 * <p>It waits without polling; see {@link MemoryWaiters}. After each change only what was released
 * is looked at.
 */
final class ReleaseWait implements AutoCloseable {
  private static final long WAIT_NANOS = 10_000_000_000L;
  private static final long TAKING_WAIT_NANOS = 100_000_000L;

  /**
   * How long a thread takes at most, but for a busy processor, from the moment when it takes a
   * block until others see whose the block is. It tells nobody, which would cost each allocation.
   */
  private static final long TAKING_NANOS = 1_000_000;

  /** Buffers that are asked for at once, since it is not known which will be idle first. */
  private static final int MOST_ASKED = 64;

  private final StorageContext memory;
  private final Reclaimer reclaimer;
  private final MemoryRequest<?> request;
  private final Eviction eviction;
  private final List<Asked> asked = new ArrayList<>();
  private MemoryWaiters.@Nullable Waiter waiter;
  private boolean searches;
  private boolean stopped;
  private boolean over;
  private long start;

  /** An operation that was asked to give a storage's memory up, behind what uses it. */
  private record Asked(Storage storage, Operation work) {}

  ReleaseWait(
      StorageContext memory, Reclaimer reclaimer, MemoryRequest<?> request, Eviction eviction) {
    this.memory = memory;
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
      // A thread that goes must leave no waiter behind.
      StackReserve.check();
      // Before the search: what is released from here on is told to the waiter.
      waiter = memory.waiters().enter(memory.device());
      start = System.nanoTime();
      beginSearch();
      return 1;
    }
    if (searches) {
      long freed = going(() -> search(bytes));
      if (freed > 0) {
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

  private long await(MemoryWaiters.Waiter waiter) {
    stop();
    long waited = System.nanoTime() - start;
    boolean helpComes = waited < WAIT_NANOS && helpComes();
    boolean blockComes = !helpComes && waited < TAKING_WAIT_NANOS && reclaimer.anyBlockOnItsWay();
    MemoryWaiters.Changes changes =
        waiter.await(helpComes ? WAIT_NANOS - waited : blockComes ? TAKING_NANOS : 0);
    boolean goesOn =
        blockComes
            || (helpComes && changes.any())
            || (waited < WAIT_NANOS && changes.anyFreed() && isAnythingToTake());
    if (!goesOn) {
      return end();
    }
    if (changes.missed() || !changes.any()) {
      beginSearch();
    } else if (!changes.released().isEmpty()) {
      var _ = going(() -> free(changes.released()));
    }
    return 1;
  }

  /** An operation has let go of these storages, and what comes behind it may not have begun. */
  private long free(List<Object> released) {
    long freed = 0;
    for (Object each : released) {
      if (freed < request.bytes()
          && each instanceof Storage storage
          && request.isServedBy(storage.context())) {
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
    eviction.restart();
    return going(() -> eviction.free(request.bytes()));
  }

  /** Whether work will end that has what was asked for, or the memory of further buffers. */
  private boolean helpComes() {
    return goesOn()
        || (askForMore() && goesOn())
        || asked.stream().anyMatch(each -> each.work().isItsTurn());
  }

  /**
   * Whether work will end that has what was asked for. If all of that waits, it may wait for other
   * work, which goes on.
   */
  private boolean goesOn() {
    boolean anyWaits = false;
    for (Asked each : asked) {
      PinState.Users users = each.storage().pins().others();
      if (users == PinState.Users.GOING_ON) {
        return true;
      }
      anyWaits |= users == PinState.Users.WAITING;
    }
    return anyWaits && reclaimer.anyWorkGoesOn();
  }

  /** Whether there are buffers that could free memory if they were not in use. */
  private boolean isAnythingToTake() {
    return reclaimer.leastRecentlyUsed(request.isOwnOnly(), true, request::isServedBy) != null;
  }

  /** Asks for further buffers that others use now; whether there are any. */
  private boolean askForMore() {
    int before = asked.size();
    for (Storage storage : reclaimer.busy(request.isOwnOnly())) {
      if (asked.size() == MOST_ASKED) {
        break;
      }
      if (storage.pins().others() != PinState.Users.NONE
          && asked.stream().noneMatch(each -> each.storage() == storage)) {
        ask(storage);
      }
    }
    return asked.size() > before;
  }

  private void ask(Storage storage) {
    SpillStore spilling = storage.context().spilling();
    if (request.evictionHelps(storage)) {
      asked.add(new Asked(storage, reclaimer.requestEviction(storage)));
    } else if (spilling != null && request.spillingHelps(storage)) {
      asked.add(new Asked(storage, reclaimer.requestSpill(storage, spilling)));
    }
  }

  /** From now on, work that the request is for waits, as others see it. */
  private void stop() {
    if (request.isInWork() && !stopped) {
      stopped = true;
      memory.waiters().stops();
    }
  }

  private void goOn() {
    if (stopped) {
      stopped = false;
      memory.waiters().goesOn();
    }
  }

  /**
   * Moves bytes. Meanwhile the work goes on, as others see it, because it will let go of what it
   * moves.
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

  @Override
  public void close() {
    goOn();
    if (waiter != null) {
      waiter.close();
    }
    asked.forEach(each -> each.work().cancel());
  }
}
