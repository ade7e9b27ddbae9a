package dev.tidepool.runtime.reclaim;

import dev.tidepool.Capability;
import dev.tidepool.MemoryLocation;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.TransferException;
import dev.tidepool.diagnostics.Suspension;
import dev.tidepool.diagnostics.Suspension.Reason;
import dev.tidepool.runtime.order.Exceptions;
import dev.tidepool.runtime.order.ResourceAccess;
import dev.tidepool.runtime.storage.BufferCore;
import dev.tidepool.runtime.storage.Coherence;
import dev.tidepool.runtime.storage.SpillFile;
import dev.tidepool.runtime.storage.Storage;
import dev.tidepool.runtime.storage.StorageContext;
import dev.tidepool.runtime.storage.StorageEviction;
import dev.tidepool.runtime.supply.MemoryPools;
import dev.tidepool.spi.support.RankedSort;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Moves the buffers of a manager off the device, and brings them back.
 *
 * <p>Moves one buffer after another, by an operation in its queue, as the recovery from full memory
 * does. A storage notes that it was moved until it is brought back. Thread-safe.
 */
public final class Suspender {
  private final StorageContext context;
  private final MemoryPools pools;

  public Suspender(StorageContext context, MemoryPools pools) {
    this.context = context;
    this.pools = pools;
  }

  /** Moves buffers to the host or the spill file, and trims the pools of the device. */
  public Suspension suspend() {
    long before = pools.reservedDeviceBytes();
    Tally tally = new Tally();
    for (BufferCore core : context.registry().all()) {
      Storage storage = mayBeOnDevice(core) ? core.storageUnlessClosed() : null;
      if (storage != null) {
        tally.note(storage, suspend(storage));
      }
    }
    pools.trimDevice();
    return tally.result(Math.max(0, before - pools.reservedDeviceBytes()));
  }

  /** Returns whether a buffer may have device memory; creates no storage. */
  private boolean mayBeOnDevice(BufferCore core) {
    return core.storageIfAny() != null
        || context.device().info().can(Capability.SHARED_MEMORY)
        || core.location() == MemoryLocation.DEVICE
        || core.location() == MemoryLocation.UNIFIED;
  }

  /**
   * The result for a storage.
   *
   * @param isMoved whether its memory on the device was freed
   * @param left why it still has memory there; null if it has none
   */
  private record Outcome(boolean isMoved, @Nullable Reason left) {
    static final Outcome MOVED = new Outcome(true, null);
    static final Outcome ABSENT = new Outcome(false, null);

    static Outcome left(Reason reason) {
      return new Outcome(false, reason);
    }
  }

  private Outcome suspend(Storage storage) {
    Outcome outcome = move(storage);
    if (outcome.isMoved()) {
      storage.suspended();
    }
    return outcome;
  }

  private Outcome move(Storage storage) {
    Coherence coherence = storage.coherence();
    if (!storage.isOpen() || !coherence.backing().hasDevice()) {
      return Outcome.ABSENT;
    }
    if (hasNativeUser(storage)) {
      return Outcome.left(Reason.LENT);
    }
    if (new StorageEviction(storage).isPossible()) {
      return new DeviceEviction(storage).inTurn() ? Outcome.MOVED : spill(storage);
    }
    if (!coherence.backing().isShared()) {
      return coherence.backing().isAmongProcesses()
          ? Outcome.left(Reason.OTHER_PROCESSES)
          : Outcome.left(Reason.ADOPTED);
    }
    return coherence.backing().isHostOwned() ? spill(storage) : Outcome.ABSENT;
  }

  /** Returns whether native code uses the bytes on the device: they are lent or exported. */
  private static boolean hasNativeUser(Storage storage) {
    return storage.holds().isLent() || storage.holds().keepDevice();
  }

  /** Spills a buffer that does not fit in host memory, or whose memory is shared. */
  private Outcome spill(Storage storage) {
    SpillFile spilling = context.spilling();
    boolean shared = storage.coherence().backing().isShared();
    if (shared && storage.byteSize() == 0) {
      return Outcome.ABSENT;
    }
    if (shared && storage.holds().keepHost()) {
      return Outcome.left(Reason.HOST_VIEW);
    }
    if (spilling == null) {
      return shared ? Outcome.left(Reason.NO_SPILL_DIRECTORY) : leftOf(storage);
    }
    try {
      return new Spill(storage, spilling).inTurn() ? Outcome.MOVED : leftOf(storage);
    } catch (TransferException full) {
      return Outcome.left(Reason.NO_ROOM);
    }
  }

  /** Returns the result of a failed attempt; the buffer may be closed, mapped or lent by now. */
  private static Outcome leftOf(Storage storage) {
    if (!storage.isOpen() || !storage.coherence().backing().hasDevice()) {
      return Outcome.ABSENT;
    }
    if (hasNativeUser(storage)) {
      return Outcome.left(Reason.LENT);
    }
    return storage.coherence().backing().isShared() && storage.holds().keepHost()
        ? Outcome.left(Reason.HOST_VIEW)
        : Outcome.left(Reason.NO_ROOM);
  }

  /** The sums of one suspension; not thread-safe. */
  private static final class Tally {
    private final Map<Reason, Long> left = new EnumMap<>(Reason.class);
    private long buffers;
    private long bytes;

    void note(Storage storage, Outcome outcome) {
      Reason reason = outcome.left();
      if (outcome.isMoved()) {
        buffers++;
        bytes += storage.byteSize();
      } else if (reason != null) {
        left.merge(reason, storage.byteSize(), Long::sum);
      }
    }

    Suspension result(long returned) {
      return new Suspension(buffers, bytes, returned, left);
    }
  }

  /**
   * Brings back the buffers that were suspended and not used since, the least recently used first:
   * if there is no room for all, the most recently used ones are on the device at the end. Stops if
   * there is no room for one.
   *
   * @return the bytes of the buffers that were brought back
   */
  public long resume() {
    List<Storage> suspended =
        RankedSort.by(Storage::lastUse, context.storages().stream().filter(Storage::isSuspended));
    long bytes = 0;
    for (Storage storage : suspended) {
      try {
        bytes += resume(storage) ? storage.byteSize() : 0;
      } catch (OutOfDeviceMemoryException full) {
        return bytes;
      }
    }
    return bytes;
  }

  /**
   * Brings a storage back; returns whether it did. It does not if the storage is closed or mapped,
   * or if a user has its host address: the next use brings it back.
   */
  private boolean resume(Storage storage) {
    if (!storage.coherence().lacksDeviceMemory()) {
      storage.resumed();
      return false;
    }
    try {
      boolean[] returns = new boolean[1];
      storage
          .transfer(ResourceAccess.onDevice(storage, false), () -> returns[0] = bringBack(storage))
          .perform(storage.runsHere());
      return returns[0];
    } catch (IllegalStateException refused) {
      return false;
    }
  }

  /** Brings a storage back; returns whether it was away. A use may have brought it back. */
  private static boolean bringBack(Storage storage) {
    if (storage.holds().keepHost()) {
      return false;
    }
    try {
      boolean wasAway = storage.coherence().returnToDevice();
      storage.resumed();
      return wasAway;
    } catch (RuntimeException | Error e) {
      throw Exceptions.transfer(e, "bringing back " + storage);
    }
  }
}
