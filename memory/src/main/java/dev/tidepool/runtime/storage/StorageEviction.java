package dev.tidepool.runtime.storage;

import dev.tidepool.pool.block.Lease;
import org.jspecify.annotations.Nullable;

/**
 * Removes the device's copy of a storage; the host's copy replaces it.
 *
 * <p><b>Locking.</b> Called while no operation uses the storage. Takes the lock {@code moving} of
 * its {@link Coherence}.
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

  /** Returns whether there is a device copy that the host's copy can replace. */
  public boolean isPossible() {
    return !backing.isShared()
        && backing.hasDevice()
        && !backing.isDeviceForeign()
        && !storage.holds().keepDevice();
  }

  /** Returns whether an eviction needs no new memory on the host. */
  public boolean hasTwoCopies() {
    return isPossible() && backing.hasHost();
  }

  /** Fetches newer bytes and detaches the device's copy; null if there is none to free. */
  public @Nullable Lease evict() {
    try (MovingLock _ = coherence.moving().locked()) {
      if (!isPossible()) {
        return null;
      }
      if (!coherence.state().isHostNewest() && !backing.hasHost()) {
        coherence.addHost(context.blocks().forHostInRecovery(storage.byteSize(), storage.core()));
      }
      coherence.fetchNewer();
      // Before the overwrite, because the overwritten bytes must not be the newest.
      coherence.state().hostOnly();
      context.scrubber().overwrite(backing);
      context.registry().relocated(storage.core());
      return backing.detachDevice();
    }
  }

  /** Returns whether an eviction would have to fetch bytes, and memory on the host is present. */
  public boolean canFetchAhead() {
    return hasTwoCopies() && !coherence.state().isHostNewest();
  }

  /** Fetches bytes that are newer on the device, so that a later eviction is fast. */
  public void fetchAhead() {
    try (MovingLock _ = coherence.moving().locked()) {
      if (canFetchAhead()) {
        coherence.fetchNewer();
      }
    }
  }
}
