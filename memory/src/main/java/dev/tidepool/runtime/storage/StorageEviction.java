package dev.tidepool.runtime.storage;

import dev.tidepool.pool.block.Lease;
import org.jspecify.annotations.Nullable;

/**
 * Gives up the device's copy of a storage, which the host's copy replaces.
 *
 * <p><b>Locking.</b> Called while no work uses the storage. Takes the lock {@code moving} of its
 * {@link Coherence}.
 */
public final class StorageEviction {
  private final Storage storage;
  private final StorageContext context;
  private final Coherence coherence;
  private final BackingBlocks backing;

  public StorageEviction(Storage storage) {
    this.storage = storage;
    this.context = storage.context();
    this.coherence = storage.coherence();
    this.backing = coherence.backing();
  }

  /**
   * Returns whether there is a device copy that may be given up, since the host's can replace it.
   */
  public boolean isPossible() {
    return !backing.isShared()
        && backing.hasDevice()
        && !backing.isDeviceForeign()
        && !storage.holds().keepDevice();
  }

  /** Returns whether the copy can be given up without a place for its bytes. */
  public boolean hasTwoCopies() {
    return isPossible() && backing.hasHost();
  }

  /** Fetches what only the device has and gives its copy up; null if there is none to give. */
  public @Nullable Lease evict() {
    try (MovingLock _ = coherence.moving().locked()) {
      if (!isPossible()) {
        return null;
      }
      if (!coherence.state().isHostNewest() && !backing.hasHost()) {
        coherence.addHost(context.blocks().forHostInRecovery(storage.byteSize(), storage.core()));
      }
      coherence.fetchNewer();
      // First, because what is overwritten must not count any more.
      coherence.state().hostOnly();
      context.scrubber().overwrite(backing);
      context.registry().relocated(storage.core());
      return backing.detachDevice();
    }
  }

  /**
   * Returns whether a copy that is given up would be fetched first, to a place that is there
   * already.
   */
  public boolean canFetchAhead() {
    return hasTwoCopies() && !coherence.state().isHostNewest();
  }

  /** Fetches what is newer on the device, so that its copy may be given up at once later on. */
  public void fetchAhead() {
    try (MovingLock _ = coherence.moving().locked()) {
      if (canFetchAhead()) {
        coherence.fetchNewer();
      }
    }
  }
}
