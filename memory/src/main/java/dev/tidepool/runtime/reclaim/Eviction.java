package dev.tidepool.runtime.reclaim;

import dev.tidepool.TransferException;
import dev.tidepool.runtime.storage.BufferCore;
import dev.tidepool.runtime.storage.SpillFile;
import dev.tidepool.runtime.storage.Storage;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Frees memory of buffers for one request: their device copies are given up, or they go to the
 * spill file. Idle buffers are taken first, the least recently used of them before the others. Then
 * come buffers whose queued operations have not begun. Not thread-safe.
 *
 * <p>Of the idle buffers that {@link EvictionCandidates} remembers, one gives up its device copy;
 * if none has one, one goes to the file. Only then all buffers are searched, in the same order. So
 * where there are more buffers than are remembered, some may go to the file although others have
 * device copies.
 *
 * <p>Bounded: a round passes each buffer once, each round must free memory, and 32 are the most.
 * Several rounds are needed: after the first ones another limit may refuse the request, and other
 * threads may take the memory that was freed.
 */
final class Eviction {
  private static final int MOST_ROUNDS = 32;

  private final Reclaimer reclaimer;
  private final MemoryRequest<?> request;
  // The candidates that were asked for their memory in this round, whether they had any or not.
  private final Set<BufferCore> passed = new HashSet<>();
  private int round;
  private boolean freedInRound;
  private boolean evictedLast;
  private @Nullable List<Storage> queued;
  private int evicted;
  private int spilled;
  private @Nullable String diskFailure;

  Eviction(Reclaimer reclaimer, MemoryRequest<?> request) {
    this.reclaimer = reclaimer;
    this.request = request;
  }

  /** Begins again, because other buffers may be idle now. */
  void restart() {
    passed.clear();
    round = 0;
    freedInRound = false;
    queued = null;
  }

  /** Frees memory of idle buffers. */
  long free(long bytes) {
    long freed = 0;
    while (freed < bytes) {
      long one = freeOne();
      if (one > 0) {
        freed += one;
      } else if (freed > 0 || !beginsNextRound()) {
        return freed;
      }
    }
    return freed;
  }

  /** Frees memory by taking idle buffers to the file alone. */
  long spill(long bytes) {
    long freed = 0;
    long one = spillNext(true);
    while (one > 0) {
      freed += one;
      one = freed < bytes ? spillNext(true) : 0;
    }
    return freed;
  }

  private boolean beginsNextRound() {
    round++;
    passed.clear();
    boolean begins = freedInRound && round < MOST_ROUNDS;
    freedInRound = false;
    return begins;
  }

  /**
   * Frees memory of one buffer, which is quickly found if possible: where few have a device copy,
   * each request would look at all others for it.
   */
  private long freeOne() {
    long freed = evictNext(false);
    freed = freed > 0 ? freed : spillNext(false);
    freed = freed > 0 ? freed : evictNext(true);
    freed = freed > 0 ? freed : spillNext(true);
    freedInRound |= freed > 0;
    return freed;
  }

  private long evictNext(boolean amongAll) {
    BufferCore next = nextToEvict(amongAll);
    while (next != null) {
      passed.add(next);
      Storage storage = next.storageUnlessClosed();
      if (storage != null && new DeviceEviction(storage).ifIdle()) {
        evicted++;
        evictedLast = true;
        return Math.max(1, storage.byteSize());
      }
      next = nextToEvict(amongAll);
    }
    return 0;
  }

  private @Nullable BufferCore nextToEvict(boolean amongAll) {
    return reclaimer.leastRecentlyUsed(
        request.isOwnOnly(),
        amongAll,
        core -> request.evictionHelps(core) && core.isUnasked() && !passed.contains(core));
  }

  private long spillNext(boolean amongAll) {
    BufferCore next = nextToSpill(amongAll);
    while (next != null) {
      passed.add(next);
      Storage storage = next.storageUnlessClosed();
      if (storage != null && spilled(storage, false)) {
        evictedLast = false;
        return storage.byteSize();
      }
      next = nextToSpill(amongAll);
    }
    return 0;
  }

  private @Nullable BufferCore nextToSpill(boolean amongAll) {
    return diskFailure != null
        ? null
        : reclaimer.leastRecentlyUsed(
            request.isOwnOnly(),
            amongAll,
            core ->
                core.context().spilling() != null
                    && request.spillingHelps(core)
                    && core.isSpillable()
                    && core.isUnasked()
                    && !passed.contains(core));
  }

  private boolean spilled(Storage storage, boolean beforeUse) {
    SpillFile spilling = storage.context().spilling();
    if (spilling == null) {
      return false;
    }
    try {
      Relocation spill = new Spill(storage, spilling);
      boolean gone = beforeUse ? spill.beforeUse() : spill.ifIdle();
      spilled += gone ? 1 : 0;
      return gone;
    } catch (TransferException e) {
      diskFailure = e.getMessage();
      return false;
    }
  }

  /**
   * Frees memory of buffers with queued operations that have not begun. The buffer that was queued
   * last is taken first, because it is needed last.
   */
  long freeQueued(long bytes) {
    if (queued == null) {
      queued = new ArrayList<>(reclaimer.busy(request.isOwnOnly()));
    }
    long freed = 0;
    while (freed < bytes && !queued.isEmpty()) {
      freed += freeQueued(queued.removeLast());
    }
    return freed;
  }

  /**
   * Frees the memory of a storage that no operation has begun to use; returns how many bytes that
   * gave.
   */
  long freeQueued(Storage storage) {
    if (reclaimer.freeEarly(storage)) {
      return storage.byteSize();
    }
    if (request.evictionHelps(storage) && new DeviceEviction(storage).beforeUse()) {
      evicted++;
      return storage.byteSize();
    }
    return diskFailure == null && request.spillingHelps(storage) && spilled(storage, true)
        ? storage.byteSize()
        : 0;
  }

  /**
   * The request has its block. A full device will be asked again, and then the next buffer gives up
   * its copy: its newer bytes are fetched now.
   */
  void succeeded() {
    try {
      BufferCore next = evictedLast ? nextToEvict(false) : null;
      Storage storage = next == null ? null : next.storageIfAny();
      if (storage != null) {
        reclaimer.fetchBeforeEviction(storage);
      }
    } catch (OutOfMemoryError e) {
      // An error would lose the block. The bytes are fetched when the copy is given up.
      return;
    }
  }

  /** Tells what was done, for the message of a failure. */
  void report() {
    if (evicted > 0) {
      request.tried("gave up " + evicted + " idle device copies");
    }
    if (spilled > 0) {
      request.tried("spilled " + spilled + " idle buffers");
    }
    if (diskFailure != null) {
      request.tried(diskFailure);
    }
  }
}
