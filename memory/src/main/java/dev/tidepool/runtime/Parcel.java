package dev.tidepool.runtime;

import dev.tidepool.TransferPriority;
import dev.tidepool.TransferWay;
import dev.tidepool.runtime.flight.Flight;
import dev.tidepool.runtime.flight.TransferEvent;
import dev.tidepool.spi.Block;
import dev.tidepool.transfer.Direction;
import dev.tidepool.transfer.Gathering.Move;
import dev.tidepool.transfer.HostBytes;
import org.jspecify.annotations.Nullable;

/** Bytes of the host for one buffer, few enough to travel with others to the same device. */
final class Parcel {
  /** Bytes of the largest; where transfers take longer than asking for them does. */
  static final long LARGEST = 64L << 10;

  private final Storage storage;
  private final HostBytes source;
  private final long at;
  private final TransferPriority priority;
  private @Nullable TransferEvent event;

  private Parcel(Storage storage, HostBytes source, long at, TransferPriority priority) {
    this.storage = storage;
    this.source = source;
    this.at = at;
    this.priority = priority;
  }

  /** A copy to a storage as a parcel; null if it is empty, too large, or will cross no link. */
  static @Nullable Parcel of(
      Storage storage, HostBytes source, long at, TransferPriority priority) {
    long bytes = source.byteSize();
    return bytes == 0 || bytes > LARGEST || storage.residency().copies().isShared()
        ? null
        : new Parcel(storage, source, at, priority);
  }

  Storage storage() {
    return storage;
  }

  /** Whose link it takes. */
  AcceleratorMemory memory() {
    return storage.memory();
  }

  TransferPriority priority() {
    return priority;
  }

  long bytes() {
    return source.byteSize();
  }

  long from() {
    return at;
  }

  long to() {
    return at + bytes();
  }

  /** The way over the link, now that its turn has come; null if the bytes go elsewhere. */
  @Nullable Move plan() {
    Block target = storage.residency().uploadTarget();
    if (target == null) {
      return null;
    }
    event = Flight.transfer();
    return new Move(source, target, at);
  }

  /** They were on their way with others when something failed. */
  void mayHaveArrived() {
    storage.residency().deviceWriteFailed(at, to());
  }

  /** The bytes have arrived, with others. */
  void arrived(long elapsedNanos, TransferWay way) {
    storage.residency().uploaded(at, to(), elapsedNanos, way);
    if (event != null) {
      event.moved(
          memory().id(), Direction.HOST_TO_DEVICE.name(), way, storage.tenancy().tag(), bytes());
    }
  }

  @Override
  public String toString() {
    return "copying " + bytes() + " bytes in of " + storage;
  }
}
