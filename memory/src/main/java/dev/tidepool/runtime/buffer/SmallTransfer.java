package dev.tidepool.runtime.buffer;

import dev.tidepool.link.CoalescedCopy.Move;
import dev.tidepool.link.Direction;
import dev.tidepool.link.HostRegion;
import dev.tidepool.runtime.events.FlightEvents;
import dev.tidepool.runtime.events.TransferEvent;
import dev.tidepool.runtime.order.Coalescable;
import dev.tidepool.runtime.storage.Coherence;
import dev.tidepool.runtime.storage.Storage;
import dev.tidepool.runtime.storage.StorageContext;
import dev.tidepool.spi.Block;
import dev.tidepool.transfer.TransferPriority;
import dev.tidepool.transfer.TransferWay;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** A copy between the host and one buffer that is small enough for a batch. */
public final class SmallTransfer implements Coalescable {
  /** The maximum number of bytes. The chunks of a larger transfer overlap each other. */
  private static final long LARGEST = 1L << 20;

  /** The maximum number of bytes of a transfer that takes less time than its request. */
  public static final long SMALL = 64L << 10;

  private final Storage storage;
  private final HostRegion bytes;
  private final long at;
  private final Direction direction;
  private final TransferPriority priority;
  private @Nullable TransferEvent event;

  private SmallTransfer(
      Storage storage, HostRegion bytes, long at, Direction direction, TransferPriority priority) {
    this.storage = storage;
    this.bytes = bytes;
    this.at = at;
    this.direction = direction;
    this.priority = priority;
  }

  /**
   * Returns a copy to a storage as a small transfer; null if it is empty, too large, or needs no
   * link.
   */
  public static @Nullable SmallTransfer in(
      Storage storage, HostRegion source, long at, TransferPriority priority) {
    return of(storage, source, at, Direction.HOST_TO_DEVICE, priority);
  }

  /** Like {@link #in}, for a copy from a storage. */
  public static @Nullable SmallTransfer out(
      Storage storage, HostRegion destination, long at, TransferPriority priority) {
    return of(storage, destination, at, Direction.DEVICE_TO_HOST, priority);
  }

  private static @Nullable SmallTransfer of(
      Storage storage, HostRegion bytes, long at, Direction direction, TransferPriority priority) {
    long count = bytes.byteSize();
    boolean tooLarge = count > LARGEST || (count > SMALL && isMappedFile(bytes));
    return count == 0 || tooLarge || storage.coherence().backing().isShared()
        ? null
        : new SmallTransfer(storage, bytes, at, direction, priority);
  }

  private static boolean isMappedFile(HostRegion bytes) {
    return bytes instanceof HostRegion.Segment(MemorySegment segment, _) && segment.isMapped();
  }

  /** Returns whether both transfers use the same link in the same direction. */
  boolean goesWith(SmallTransfer other) {
    return context() == other.context() && direction == other.direction;
  }

  /**
   * Returns whether a batch is useful even if each transfer could have a thread. A larger transfer
   * is batched only with transfers that would otherwise wait for it.
   */
  boolean isSmall() {
    return bytes() <= SMALL;
  }

  /** Returns the context of the manager whose link the transfer uses. */
  StorageContext context() {
    return storage.context();
  }

  Direction direction() {
    return direction;
  }

  TransferPriority priority() {
    return priority;
  }

  long bytes() {
    return bytes.byteSize();
  }

  long from() {
    return at;
  }

  long to() {
    return at + bytes();
  }

  /** Returns the transfer over the link, at its turn; null if the bytes do not use the link. */
  @Nullable Move plan() {
    Coherence coherence = storage.coherence();
    Block block =
        direction == Direction.HOST_TO_DEVICE
            ? coherence.uploadTarget()
            : coherence.downloadSource(from(), to());
    if (block == null) {
      return null;
    }
    event = FlightEvents.transfer();
    return new Move(bytes, block, at);
  }

  /** Notes that the batch of this transfer has failed. */
  void mayHaveArrived() {
    if (direction == Direction.HOST_TO_DEVICE) {
      storage.coherence().state().deviceWriteFailed(from(), to());
    }
  }

  /** Notes that the batch of this transfer has arrived. */
  void arrived(long elapsedNanos, TransferWay way) {
    storage.coherence().transferredInBatch(direction, from(), to(), elapsedNanos, way);
    if (event != null) {
      event.moved(context().id(), direction.name(), way, storage.core().tag(), bytes());
    }
  }

  @Override
  public String toString() {
    return "copying "
        + bytes()
        + (direction == Direction.HOST_TO_DEVICE ? " bytes to " : " bytes out of ")
        + storage;
  }
}
