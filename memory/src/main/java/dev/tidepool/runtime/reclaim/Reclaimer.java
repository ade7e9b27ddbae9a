package dev.tidepool.runtime.reclaim;

import dev.tidepool.MemoryInfo;
import dev.tidepool.diagnostics.Defragmentation;
import dev.tidepool.diagnostics.Fragmentation;
import dev.tidepool.runtime.order.UseState;
import dev.tidepool.runtime.storage.BufferCore;
import dev.tidepool.runtime.storage.Storage;
import dev.tidepool.runtime.storage.StorageContext;
import dev.tidepool.runtime.storage.StorageEviction;
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
 * Frees memory, in one manager or in all managers of the session that share its device: trims idle
 * blocks, and compacts small buffers. Also finds buffers for a {@link Relocation}. {@link
 * OutOfMemoryRecovery} decides which step is next. Thread-safe.
 */
public final class Reclaimer {
  /**
   * Device memory is fragmented if more than 1 / {@code SCATTERED} of it is bound: idle parts of
   * slabs that are in use.
   */
  private static final int SCATTERED = 4;

  /** Bytes whose transfer takes longer than a thread takes to wake. */
  private static final long WORTH_A_THREAD = 1 << 20;

  private final StorageContext context;
  private final MemoryPools pools;
  private final EvictionCandidates candidates;
  private final Supplier<Stream<Reclaimer>> all;
  private final AtomicBoolean defragmenting = new AtomicBoolean();

  /**
   * Creates the reclaimer of one manager.
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

  /**
   * Returns whether a block is being taken, returned or freed now, in any manager of the device.
   */
  boolean anyBlockInTransition() {
    return onDevice().anyMatch(manager -> manager.pools.anyInTransition());
  }

  /** Returns whether any operation of the session runs and does not wait for memory. */
  boolean anyWorkGoesOn() {
    return all.get()
        .flatMap(manager -> manager.context.storages().stream())
        .anyMatch(storage -> storage.useState().others() == UseState.Users.GOING_ON);
  }

  /** Returns whether any storage of the managers of the device matches. */
  boolean anyStorage(Predicate<Storage> asked) {
    return onDevice().flatMap(manager -> manager.context.storages().stream()).anyMatch(asked);
  }

  /** Frees idle blocks, also while the manager closes; returns the bytes. */
  public long trim() {
    return pools.trim();
  }

  /** Trims the pools of all managers of the device; returns the bytes that were freed. */
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

  /** Compacts small buffers of this manager's pools. */
  public Defragmentation defragment() {
    return Defragmenter.run(pools);
  }

  /** Defragments all managers of the device; returns the bytes that were freed. */
  long defragmentDevice() {
    return onDevice().mapToLong(manager -> manager.defragment().returnedBytes()).sum();
  }

  /** Defragments if the pools are fragmented; one pass at a time. */
  public void defragmentIfScattered() {
    if (pools.boundDeviceBytes() > pools.reservedDeviceBytes() / SCATTERED
        && defragmenting.compareAndSet(false, true)) {
      try {
        context.transferThreads().execute(this::defragmentBeforeEnd);
      } catch (RuntimeException | Error e) {
        defragmenting.set(false);
        throw e;
      }
    }
  }

  private void defragmentBeforeEnd() {
    try {
      context.state().beforeEnd(this::defragment);
    } finally {
      defragmenting.set(false);
    }
  }

  /**
   * Returns approximately the least recently used buffer of those that match; null if none was
   * found.
   *
   * @param ownOnly whether to search only this manager, and not all managers of the device
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
   * Returns the storages that operations use or wait for, that are being moved, or that are closed,
   * of this manager or of all managers of the device, the least recently used first. Visits all
   * buffers, and creates no storage.
   */
  List<Storage> busy(boolean ownOnly) {
    return RankedSort.by(
        Storage::lastUse,
        (ownOnly ? Stream.of(this) : onDevice())
            .flatMap(manager -> manager.context.storages().stream())
            .filter(Storage::isBusy));
  }

  /**
   * Starts to fetch newer bytes of the storage that will be evicted next, if it is large and idle
   * and has a host copy. The transfer is concurrent with the upload to the memory that was just
   * freed, because a link carries both directions at once.
   */
  void fetchBeforeEviction(Storage storage) {
    synchronized (storage) {
      if (!storage.isIdle()) {
        return;
      }
    }
    StorageEviction eviction = new StorageEviction(storage);
    if (storage.byteSize() >= WORTH_A_THREAD && eviction.canFetchAhead()) {
      context
          .transferThreads()
          .execute(
              () -> {
                try {
                  storage.moveIfUnused(
                      () -> {
                        // A closed buffer need not be fetched.
                        if (!storage.lifetime().isFreePending()) {
                          eviction.fetchAhead();
                        }
                      });
                } catch (RuntimeException | InternalError e) {
                  FailureLog.debug(storage + " could not be fetched ahead; it stays newer", e);
                }
              });
    }
  }

  /**
   * Frees a closed storage whose release waits for a thread; returns whether it did. Its bytes are
   * not needed, so this comes before bytes are moved.
   */
  boolean freeEarly(Storage storage) {
    if (!storage.lifetime().isFreePending()) {
      return false;
    }
    AtomicBoolean freed = new AtomicBoolean();
    SessionExecutors.offCarrier(() -> freed.set(storage.lifetime().freeEarly()));
    return freed.get();
  }
}
