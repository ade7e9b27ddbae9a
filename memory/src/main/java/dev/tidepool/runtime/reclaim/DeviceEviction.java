package dev.tidepool.runtime.reclaim;

import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.pool.block.Lease;
import dev.tidepool.runtime.events.EvictionEvent;
import dev.tidepool.runtime.events.FlightEvents;
import dev.tidepool.runtime.storage.SpillFile;
import dev.tidepool.runtime.storage.Storage;

/** Frees a buffer's device copy, after it has fetched the newer bytes. */
final class DeviceEviction extends Relocation {
  DeviceEviction(Storage storage) {
    super(storage);
  }

  @Override
  boolean ifIdle() {
    boolean asks = storage.coherence().isEvictable();
    while (asks) {
      // A storage that is just being moved is no less idle: its bytes may be on their way to the
      // host already.
      asks = !performIfIdle() && storage.isIdleWhenMoved();
    }
    return hasFreed();
  }

  @Override
  boolean move() {
    EvictionEvent event = FlightEvents.eviction();
    Lease lease;
    try {
      lease = storage.coherence().evictDevice();
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
