package dev.tidepool.runtime.storage;

import dev.tidepool.MemoryLocation;
import dev.tidepool.TransferException;
import dev.tidepool.pool.block.Lease;
import dev.tidepool.spi.Block;
import java.util.List;
import java.util.Objects;

/**
 * Moves the bytes of a storage to the spill file to release all of its memory, and brings them back
 * before the next access. The visible state changes as in an eviction of the device's copy.
 *
 * <p><b>Locking.</b> Called while no other operation uses the storage. {@link #spill} takes the
 * lock {@code moving} of its {@link Coherence}, which holds it for {@link #bringBack}.
 */
public final class StorageSpill implements SpilledBytes {
  private final Storage storage;
  private final StorageContext context;
  private final Coherence coherence;
  private final BackingBlocks backing;
  private final long size;

  public StorageSpill(Storage storage) {
    this.storage = storage;
    this.context = storage.context();
    this.coherence = storage.coherence();
    this.backing = coherence.backing();
    this.size = storage.byteSize();
  }

  /**
   * Writes the newest bytes to a file and releases all memory; returns false if the storage cannot
   * be spilled.
   *
   * @throws TransferException if the file cannot be written; the storage keeps its memory then
   */
  public boolean spill(SpillFile spilling) {
    BufferCore core = storage.core();
    List<Lease> freed;
    boolean clean;
    try (MovingLock _ = coherence.moving().locked()) {
      if (!coherence.isSpillable()) {
        return false;
      }
      SpillFile.Extent extent = spilling.reserve(size);
      try {
        writeTo(extent);
        coherence.releaseToDevice();
        context.guards().inspect(backing, core::info);
        freed = backing.leases();
        context.registry().addWithoutBlock(core);
        spilling.spilled();
      } catch (RuntimeException | Error e) {
        extent.drop();
        context.registry().gone(core);
        throw e;
      }
      // Nothing throws from here on: the state must not change before the bytes are in the file.
      Block abandoned = context.scrubber().beyondPools(backing);
      if (!backing.isShared()) {
        coherence.state().hostOnly();
      }
      backing.detachAll(extent);
      coherence.spilledTo(this);
      clean = abandoned == null || context.scrubber().overwroteQuietly(abandoned);
    }
    for (int i = 0; i < freed.size(); i++) {
      if (clean) {
        freed.get(i).release();
      } else {
        freed.get(i).discard();
      }
    }
    return true;
  }

  private void writeTo(SpillFile.Extent extent) {
    if (backing.hasHost()) {
      coherence.acquireForHost();
      if (!backing.isShared()) {
        coherence.fetchNewer();
      }
      extent.write(0, backing.host());
      return;
    }
    // Without a host copy, the bytes pass through a staging block.
    Lease staging = context.blocks().forStaging(Math.min(size, context.stagingChunk()));
    try {
      coherence.transfers().writeToFile(extent, size, staging);
    } finally {
      staging.release();
    }
  }

  @Override
  public void bringBack(boolean read) {
    SpillFile.Extent extent = Objects.requireNonNull(backing.spilled(), "the extent");
    SpillFile spilling = Objects.requireNonNull(context.spilling(), "the file of this storage");
    BufferCore core = storage.core();
    // Created before the lease, which an error here would lose.
    StorageTransfers transfers = coherence.transfers();
    boolean inFirstPlace = backing.isShared() || core.location() != MemoryLocation.DEVICE;
    Lease lease =
        inFirstPlace
            ? context.blocks().forReturn(size, core.allocation(), core)
            : context.blocks().forHost(size, core);
    try {
      if (read) {
        transfers.readFromFile(extent, lease);
      }
      backing.attach(lease);
    } catch (RuntimeException | Error e) {
      if (transfers.takesTurns(lease)) {
        // It is unknown whether the host or the device has acquired the block.
        lease.discard();
      } else {
        lease.release();
      }
      throw e;
    }
    coherence.broughtBack();
    // First, because drop throws nothing.
    extent.drop();
    context.registry().removeWithoutBlock(core);
    // Last, because the counter may allocate.
    spilling.broughtBack();
  }
}
