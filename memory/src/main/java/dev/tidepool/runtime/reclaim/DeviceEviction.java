package dev.tidepool.runtime.reclaim;

import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.pool.block.Lease;
import dev.tidepool.runtime.events.EvictionEvent;
import dev.tidepool.runtime.events.FlightEvents;
import dev.tidepool.runtime.storage.SpillFile;
import dev.tidepool.runtime.storage.Storage;
import dev.tidepool.runtime.storage.StorageEviction;

/** Evicts a buffer's device copy; spills the buffer if the host has no memory for it. */
final class DeviceEviction extends Relocation {
  private final StorageEviction eviction;

  DeviceEviction(Storage storage) {
    super(storage);
    this.eviction = new StorageEviction(storage);
  }

  @Override
  boolean ifIdle() {
    boolean asks = eviction.isPossible();
    while (asks) {
      // A storage whose bytes are being moved counts as idle: they may be moving to the host
      // already.
      asks = !performIfIdle() && storage.isIdleWhenMoved();
    }
    return hasFreed();
  }

  @Override
  boolean move() {
    EvictionEvent event = FlightEvents.eviction();
    Lease lease;
    try {
      lease = eviction.evict();
    } catch (OutOfDeviceMemoryException noPlaceOnHost) {
      SpillFile spilling = storage.context().spilling();
      if (spilling == null) {
        throw noPlaceOnHost;
      }
      return new Spill(storage, spilling).move();
    }
    if (lease == null) {
      return false;
    }
    lease.release();
    if (event != null) {
      event.evicted(storage.context().id(), storage.core().tag(), storage.byteSize());
    }
    storage.context().counters().evicted();
    return true;
  }
}
