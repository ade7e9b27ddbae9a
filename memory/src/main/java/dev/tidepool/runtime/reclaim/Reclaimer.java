package dev.tidepool.runtime.reclaim;

import dev.tidepool.MemoryInfo;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.diagnostics.Defragmentation;
import dev.tidepool.diagnostics.Fragmentation;
import dev.tidepool.pool.block.Lease;
import dev.tidepool.runtime.events.EvictionEvent;
import dev.tidepool.runtime.events.FlightEvents;
import dev.tidepool.runtime.order.Operation;
import dev.tidepool.runtime.order.PinState;
import dev.tidepool.runtime.storage.BufferCore;
import dev.tidepool.runtime.storage.SpillStore;
import dev.tidepool.runtime.storage.Storage;
import dev.tidepool.runtime.storage.StorageContext;
import dev.tidepool.runtime.supply.MemoryPools;
import dev.tidepool.runtime.threads.SessionExecutors;
import dev.tidepool.spi.support.FailureLog;
import dev.tidepool.spi.support.RankedSort;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Frees memory, in one manager or in all of the session that share its device: idle blocks are
 * given back, small buffers moved together, idle device copies given up, and idle buffers taken to
 * the spill file. When to do which is the {@link OutOfMemoryRecovery}'s business.
 *
 * <p>Safe for use by any thread. What belongs to a buffer goes by work in its order, where nothing
 * is ahead of it; or, ahead of work that has not begun, while no other {@linkplain PinState
 * occupies} it.
 */
public final class Reclaimer {

  /**
   * Device memory is fragmented if more than one part in so many of it is bound: idle parts of
   * slabs that are in use.
   */
  private static final int SCATTERED = 4;

  /** Bytes that take longer on their way than a thread takes to wake. */
  private static final long WORTH_A_THREAD = 1 << 20;

  private final StorageContext context;
  private final MemoryPools pools;
  private final EvictionCandidates candidates;
  private final Supplier<Stream<Reclaimer>> all;
  private final AtomicBoolean defragmenting = new AtomicBoolean();

  /**
   * Creates it for one manager.
   *
   * @param all returns the reclaimers of all managers of the session
   */
  public Reclaimer(StorageContext context, MemoryPools pools, Supplier<Stream<Reclaimer>> all) {
    this.context = context;
    this.pools = pools;
    this.candidates = new EvictionCandidates(pools, core -> core.context() == context);
    this.all = all;
  }

  /** Returns this manager's reclaimer, then those of the other managers of the device. */
  private Stream<Reclaimer> onDevice() {
    return Stream.concat(
        Stream.of(this),
        all.get()
            .filter(other -> other != this && other.context.device().equals(context.device())));
  }

  /** Whether a block is being taken, given back or freed now, in any manager of the device. */
  boolean anyBlockOnItsWay() {
    return onDevice().anyMatch(manager -> manager.pools.anyOnItsWay());
  }

  /** Whether any work of the session goes on that does not wait for memory itself. */
  boolean anyWorkGoesOn() {
    return all.get()
        .flatMap(manager -> manager.context.storages().stream())
        .anyMatch(storage -> storage.pins().others() == PinState.Users.GOING_ON);
  }

  /** Whether any storage of the managers of the device matches. */
  boolean anyStorage(Predicate<Storage> asked) {
    return onDevice().flatMap(manager -> manager.context.storages().stream()).anyMatch(asked);
  }

  /** Gives idle blocks back, also while the manager closes; how many bytes. */
  public long trim() {
    return pools.trim();
  }

  /** Trims the pools of all managers of the device; returns how many bytes went back. */
  public long trimDevice() {
    return onDevice().mapToLong(Reclaimer::trim).sum();
  }

  public Fragmentation fragmentation() {
    MemoryInfo info = context.device().memory();
    long idle = pools.idleDeviceBytes();
    long bound = Math.min(idle, pools.boundDeviceBytes());
    long free = info.freeBytes() + idle;
    return new Fragmentation(
        free, bound, Math.min(free - bound, context.largest()), info.freeIsEstimate());
  }

  /** Moves small buffers of this manager's pools together. */
  public Defragmentation defragment() {
    return Defragmenter.run(pools);
  }

  /** Defragments all managers of the device; returns how many bytes went back. */
  long defragmentDevice() {
    return onDevice().mapToLong(manager -> manager.defragment().returnedBytes()).sum();
  }

  /** Defragments when a good part of what is held is bound; one pass at a time. */
  public void defragmentIfScattered() {
    if (pools.boundDeviceBytes() > pools.reservedDeviceBytes() / SCATTERED
        && defragmenting.compareAndSet(false, true)) {
      context
          .transferThreads()
          .execute(
              () -> {
                try {
                  context.state().beforeEnd(this::defragment);
                } finally {
                  defragmenting.set(false);
                }
              });
    }
  }

  /**
   * Returns the buffer that was used longest ago, approximately, of those that match; null if there
   * is none.
   *
   * @param ownOnly whether it is to be one of this manager's, and not of any of the device
   * @param amongAll see {@link EvictionCandidates#find}
   */
  @Nullable BufferCore leastRecentlyUsed(
      boolean ownOnly, boolean amongAll, Predicate<BufferCore> wanted) {
    EvictionCandidates.Candidate least = null;
    for (Reclaimer manager : ownOnly ? List.of(this) : onDevice().toList()) {
      EvictionCandidates.Candidate candidate = manager.candidates.find(wanted, amongAll);
      least = candidate != null && candidate.isBefore(least) ? candidate : least;
    }
    return least == null ? null : least.core();
  }

  /**
   * Returns the storages that work uses or waits for, or that are being moved, of this manager
   * alone or of all managers of the device, the least recently used first. Looks at all buffers,
   * and makes no storage.
   */
  List<Storage> busy(boolean ownOnly) {
    return RankedSort.by(
        Storage::lastUse,
        (ownOnly ? Stream.of(this) : onDevice())
            .flatMap(manager -> manager.context.storages().stream())
            .filter(Storage::isBusy));
  }

  /**
   * Gives the device's copy of an idle storage up, its newer bytes fetched first; whether there was
   * one to give.
   */
  boolean evict(Storage storage) {
    if (!storage.coherence().isEvictable()) {
      return false;
    }
    AtomicBoolean evicted = new AtomicBoolean();
    Operation eviction = eviction(storage, () -> evicted.set(true));
    boolean here = !Thread.currentThread().isVirtual();
    boolean performed = eviction.performIfIdle(here);
    // A storage that is just being moved is no less idle: its bytes may be on their way to the host
    // already.
    while (!performed && storage.isIdleWhenMoved()) {
      performed = eviction.performIfIdle(here);
    }
    return evicted.get();
  }

  /**
   * Gives the device's copy of a storage up behind the work that was asked for, and waits for that
   * unless the bytes are lent; whether there was one to give.
   */
  boolean evictInTurn(Storage storage) {
    if (evict(storage)) {
      return true;
    }
    AtomicBoolean evicted = new AtomicBoolean();
    Operation eviction = eviction(storage, () -> evicted.set(true));
    if (eviction.requestIfOpen()) {
      storage.awaitUnlessLent(eviction);
    }
    return evicted.get();
  }

  /**
   * Begins to fetch what is newer on the device of the storage that is to be evicted next, if it is
   * large and idle and has a place on the host. Its bytes travel while the memory that was just
   * freed is filled, as a link carries both directions at once.
   */
  void prefetch(Storage storage) {
    synchronized (storage) {
      if (!storage.isIdle()) {
        return;
      }
    }
    if (storage.byteSize() >= WORTH_A_THREAD && storage.coherence().canPrefetch()) {
      context
          .transferThreads()
          .execute(
              () -> {
                try {
                  storage.moveIfUnused(
                      () -> {
                        // A closed buffer need not be fetched.
                        if (!storage.isFreePending()) {
                          storage.coherence().prefetch();
                        }
                      });
                } catch (RuntimeException | InternalError e) {
                  FailureLog.debug(storage + " could not be fetched ahead; it stays newer", e);
                }
              });
    }
  }

  /** Asks for a storage's device copy as soon as what is under way on it has ended. */
  Operation requestEviction(Storage storage) {
    return requested(eviction(storage, () -> {}));
  }

  private Operation eviction(Storage storage, Runnable evicted) {
    return Operation.moving(
        List.of(storage), SessionExecutors.evictions(), () -> giveUpDeviceCopy(storage, evicted));
  }

  private void giveUpDeviceCopy(Storage storage, Runnable evicted) {
    // A failure concerns neither later work nor the request: both copies stay valid.
    try {
      EvictionEvent event = FlightEvents.eviction();
      Lease lease = storage.coherence().evictDevice();
      if (lease != null) {
        lease.release();
        if (event != null) {
          event.evicted(storage.context().id(), storage.core().tag(), storage.byteSize());
        }
        storage.context().counters().evicted();
        evicted.run();
      }
    } catch (OutOfDeviceMemoryException noPlaceOnHost) {
      spillInstead(storage, evicted, noPlaceOnHost);
    } catch (RuntimeException | InternalError e) {
      stays(storage, e);
    }
  }

  /** Takes the bytes to the spill file, if there is one, because the host has no room for them. */
  private static void spillInstead(
      Storage storage, Runnable spilled, OutOfDeviceMemoryException noPlaceOnHost) {
    SpillStore spilling = storage.context().spilling();
    if (spilling == null) {
      stays(storage, noPlaceOnHost);
    } else {
      Spiller.attempt(spilling, storage, spilled, refused -> stays(storage, refused));
    }
  }

  private static void stays(Storage storage, Throwable failure) {
    FailureLog.debug(storage + " could not be evicted; it stays where it is", failure);
  }

  /**
   * Gives the memory of a closed storage back whose release waits for a thread; whether there was
   * any. Nothing needs its bytes, so this is done before bytes are moved.
   */
  boolean freeEarly(Storage storage) {
    if (!storage.isFreePending()) {
      return false;
    }
    AtomicBoolean freed = new AtomicBoolean();
    SessionExecutors.offCarrier(() -> freed.set(storage.freeEarly()));
    return freed.get();
  }

  /**
   * Gives the device's copy of a storage up although work that has not begun will want it; whether
   * there was one to give.
   */
  boolean evictBeforeUse(Storage storage) {
    AtomicBoolean evicted = new AtomicBoolean();
    SessionExecutors.offCarrier(
        () -> storage.moveIfUnused(() -> giveUpDeviceCopy(storage, () -> evicted.set(true))));
    return evicted.get();
  }

  /**
   * Takes an idle storage to the spill file, if there is one; whether that freed memory.
   *
   * @throws dev.tidepool.TransferException if the file takes no more
   */
  boolean spill(Storage storage) {
    SpillStore spilling = storage.context().spilling();
    return spilling != null && Spiller.spill(spilling, storage, SessionExecutors.evictions());
  }

  /**
   * Takes a storage to the spill file behind the work that was asked for, and waits for that;
   * whether that freed memory.
   *
   * @throws dev.tidepool.TransferException if the file takes no more
   */
  boolean spillInTurn(Storage storage, SpillStore spilling) {
    return spill(storage) || Spiller.spillInTurn(spilling, storage, SessionExecutors.evictions());
  }

  /** Spills a storage although work that has not begun will need it. */
  boolean spillBeforeUse(Storage storage) {
    SpillStore spilling = storage.context().spilling();
    return spilling != null && Spiller.spillBeforeUse(spilling, storage);
  }

  /** Asks for a storage's memory, its bytes taken to the spill file, as soon as it is idle. */
  Operation requestSpill(Storage storage, SpillStore spilling) {
    return requested(
        Spiller.operation(
            spilling,
            storage,
            SessionExecutors.evictions(),
            () -> {},
            refused -> FailureLog.debug(storage + " could not be spilled", refused)));
  }

  private static Operation requested(Operation operation) {
    if (!operation.requestIfOpen()) {
      operation.cancel();
    }
    return operation;
  }
}
