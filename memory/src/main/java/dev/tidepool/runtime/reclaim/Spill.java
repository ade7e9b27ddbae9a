package dev.tidepool.runtime.reclaim;

import dev.tidepool.TransferException;
import dev.tidepool.runtime.events.FlightEvents;
import dev.tidepool.runtime.events.SpillEvent;
import dev.tidepool.runtime.storage.SpillFile;
import dev.tidepool.runtime.storage.Storage;
import dev.tidepool.runtime.storage.StorageSpill;

/** Moves a buffer's bytes to the spill file; the next access brings them back. */
final class Spill extends Relocation {
  private final SpillFile store;

  Spill(Storage storage, SpillFile store) {
    super(storage);
    this.store = store;
  }

  @Override
  boolean move() {
    SpillEvent event = FlightEvents.spill();
    boolean isSpilled = new StorageSpill(storage).spill(store);
    if (isSpilled && event != null) {
      event.spilled(storage.context().id(), storage.core().tag(), storage.byteSize());
    }
    return isSpilled;
  }

  /**
   * {@inheritDoc}
   *
   * @throws TransferException if the file cannot be written; the storage keeps its memory then
   */
  @Override
  boolean hasFreed() {
    if (failure() instanceof TransferException refused) {
      throw refused;
    }
    return super.hasFreed();
  }
}
