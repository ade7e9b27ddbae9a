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
 * Frees memory of buffers for one request: evicts their device copies, or spills them to the file.
 * First come idle buffers, the least recently used ones before the others. Then come buffers whose
 * queued operations have not begun. Not thread-safe.
 *
 * <p>Of the idle buffers that {@link EvictionCandidates} remembers, one is evicted; if none has a
 * device copy, one is spilled. Only then all buffers are searched, in the same order. So if there
 * are more buffers than are remembered, some may be spilled although others have device copies.
 *
 * <p>Bounded: a round visits each buffer once, each round must free memory, and there are at most
 * 32 rounds. Several rounds are needed: another limit may refuse the request after the first ones,
 * and other threads may take the freed memory.
 */
final class Eviction {
  private static final int MOST_ROUNDS = 32;

  private final Reclaimer reclaimer;
  private final MemoryRequest<?> request;
  // The candidates of this round, whether they freed memory or not.
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

  /** Starts again, because other buffers may be idle now. */
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

  /** Frees memory only by spilling idle buffers. */
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
   * Frees memory of one buffer. Searches the remembered candidates first: if few buffers have a
   * device copy, each request would otherwise search all buffers.
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

  /** Frees the memory of a storage that no operation has begun to use; returns the bytes. */
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
   * Called when the request has its block. The next request will probably evict the next buffer, so
   * its newer bytes are fetched now.
   */
  void succeeded() {
    try {
      BufferCore next = evictedLast ? nextToEvict(false) : null;
      Storage storage = next == null ? null : next.storageIfAny();
      if (storage != null) {
        reclaimer.fetchBeforeEviction(storage);
      }
    } catch (OutOfMemoryError e) {
      // An error would lose the block. The eviction will fetch the bytes.
      return;
    }
  }

  /** Notes what was done, for the message of a failure. */
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
