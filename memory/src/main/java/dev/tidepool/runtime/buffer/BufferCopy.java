package dev.tidepool.runtime.buffer;

import dev.tidepool.link.DeviceLink;
import dev.tidepool.link.Direction;
import dev.tidepool.link.HostRegion;
import dev.tidepool.pool.block.Lease;
import dev.tidepool.runtime.events.FlightEvents;
import dev.tidepool.runtime.events.TransferEvent;
import dev.tidepool.runtime.order.Exceptions;
import dev.tidepool.runtime.order.Operation;
import dev.tidepool.runtime.order.ResourceAccess;
import dev.tidepool.runtime.order.RetryPolicy;
import dev.tidepool.runtime.storage.Coherence;
import dev.tidepool.runtime.storage.StorageContext;
import dev.tidepool.spi.Block;
import dev.tidepool.transfer.TransferWay;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * A copy of one buffer to another, by the shortest way from the source's newest bytes: within the
 * host, as an upload or download, or between devices by the way that their links select.
 */
public final class BufferCopy {
  private final BufferHandle<?> source;
  private final BufferHandle<?> destination;
  private final Coherence from;
  private final Coherence to;
  // The contexts of source and destination.
  private final StorageContext origin;
  private final StorageContext target;
  private final long bytes;

  private BufferCopy(BufferHandle<?> source, BufferHandle<?> destination) {
    this.source = source;
    this.destination = destination;
    this.from = source.storage().coherence();
    this.to = destination.storage().coherence();
    this.origin = source.storage().context();
    this.target = destination.storage().context();
    this.bytes = source.bytes();
  }

  /** Returns the copy as an operation in the queues of both storages. */
  static Operation operation(BufferHandle<?> source, BufferHandle<?> destination) {
    checkMappings(source, destination);
    BufferCopy copy = new BufferCopy(source, destination);
    return Operation.of(
            List.of(
                ResourceAccess.read(source.storage()), ResourceAccess.write(destination.storage())),
            copy.target.transferThreads(),
            () -> {
              try {
                if (copy.bytes > 0) {
                  copy.run();
                }
              } catch (RuntimeException | Error e) {
                throw Exceptions.transfer(e, "copying " + source + " to " + destination);
              }
            })
        // A copy between overlapping ranges may have overwritten bytes that a retry would read.
        .retrying(copy.overlaps() ? RetryPolicy.NONE : copy.target.retries());
  }

  /**
   * Rejects copies between overlapping ranges of two mappings of one file. The addresses differ, so
   * the copy cannot detect that it overwrites bytes before it reads them.
   */
  private static void checkMappings(BufferHandle<?> source, BufferHandle<?> destination) {
    if (source.storage() == destination.storage() || !MemoryRange.overlap(source, destination)) {
      return;
    }
    MemoryRange read = MemoryRange.of(source);
    MemoryRange written = MemoryRange.of(destination).front(source.bytes());
    boolean isFile = source.storage().coherence().backing().file() != null;
    if (isFile && read.overlaps(written) && !read.equals(written)) {
      throw new IllegalArgumentException(
          "%s and %s map the same bytes of one file; copy between slices of one of them"
              .formatted(source, destination));
    }
  }

  /** Copies within an operation that is in the queues of both storages. */
  public static void within(BufferHandle<?> source, BufferHandle<?> destination) {
    BufferCopy copy = new BufferCopy(source, destination);
    if (copy.bytes > 0) {
      copy.run();
    }
  }

  private void run() {
    boolean onHost =
        from.backing().isShared() || from.state().hostHasNewest(source.from(), source.to());
    if (onHost && !isNearerOnDevice()) {
      fromHost();
    } else if (to.backing().isShared() || !to.takesDeviceWrites()) {
      toHost();
    } else {
      TransferWay way = across();
      if (!way.isStaged() && carried(way)) {
        return;
      }
      if (to.writesOnHost()) {
        toHost();
      } else {
        throughHost();
      }
    }
  }

  /** Returns whether the device that needs the bytes also has the newest. */
  private boolean isNearerOnDevice() {
    return !from.backing().isShared()
        && from.backing().hasDevice()
        && from.state().deviceHasNewest(source.from(), source.to())
        && !to.backing().isShared()
        && to.takesDeviceWrites()
        && !to.writesOnHost()
        && across() == TransferWay.DEVICE_LOCAL;
  }

  private TransferWay across() {
    if (source.storage() == destination.storage()) {
      return TransferWay.DEVICE_LOCAL; // the ranges may overlap
    }
    boolean reached = target.peers().carries(origin.device(), target.device());
    return target.link().across(origin.link(), reached, bytes);
  }

  /** Copies from device to device, unless the path was closed meanwhile; returns whether it did. */
  private boolean carried(TransferWay way) {
    return target.peers().carry(origin.device(), target.device(), bytes, () -> onDevice(way));
  }

  private void fromHost() {
    boolean onHost = to.backing().isShared() || to.writesOnHost();
    long start = onHost ? System.nanoTime() : 0;
    MemorySegment host = source.part(from.readable());
    to.copyIn(new HostRegion.Segment(host, from.backing().isHostDirect()), destination.from());
    if (onHost) {
      target.meter().copiedOnHost(bytes, System.nanoTime() - start);
    }
  }

  private void toHost() {
    if (overlaps()) {
      // First, because a write on the host would mark bytes that only the device has as the host's.
      from.hostForRead(source.from(), source.to());
      fromHost();
      return;
    }
    long at = destination.from();
    MemorySegment host = to.targetOnHost(at, at + bytes).asSlice(at, bytes);
    from.copyOut(source.from(), new HostRegion.Segment(host, to.backing().isHostDirect()));
  }

  private void onDevice(TransferWay way) {
    TransferEvent event = FlightEvents.transfer();
    long start = System.nanoTime();
    DeviceLink link = target.link();
    long at = destination.from();
    source.storage().bufferCounters().accessed(true);
    if (overlaps()) {
      Lease between = target.blocks().forDevice(bytes, this);
      try {
        link.copy(origin.link(), from.backing().device(), source.from(), between.block(), 0, bytes);
        to.onDevice(
            at,
            at + bytes,
            () -> link.copy(link, between.block(), 0, to.backing().device(), at, bytes));
      } finally {
        if (target.scrubber().overwroteAbandoned(between.block())) {
          between.release();
        } else {
          between.discard();
        }
      }
    } else {
      Block block = to.deviceForWrite(at, at + bytes, true);
      to.onDevice(
          at,
          at + bytes,
          () -> link.copy(origin.link(), from.backing().device(), source.from(), block, at, bytes));
    }
    Direction direction = Direction.DEVICE_TO_DEVICE;
    target.meter().moved(direction, bytes, System.nanoTime() - start, way);
    if (event != null) {
      String tag = destination.storage().core().tag();
      event.moved(target.id(), direction.name(), way, tag, bytes);
    }
  }

  private boolean overlaps() {
    return source.storage() == destination.storage()
        && source.from() < destination.from() + bytes
        && destination.from() < source.to();
  }

  /** Copies through the host: counts a download of the source and an upload of the destination. */
  private void throughHost() {
    TransferEvent event = FlightEvents.transfer();
    long start = System.nanoTime();
    long at = destination.from();
    TransferWay[] way = new TransferWay[1];
    source.storage().bufferCounters().accessed(true);
    destination.storage().bufferCounters().accessed(true);
    to.onDevice(at, at + bytes, () -> way[0] = relay(at));
    long elapsed = System.nanoTime() - start;
    from.countTransfer(Direction.DEVICE_TO_HOST, bytes, elapsed, way[0]);
    to.countTransfer(Direction.HOST_TO_DEVICE, bytes, elapsed, way[0]);
    if (event != null) {
      String tag = destination.storage().core().tag();
      event.moved(target.id(), Direction.DEVICE_TO_DEVICE.name(), way[0], tag, bytes);
    }
    target.peers().staged(origin.device(), target.device(), bytes);
  }

  private TransferWay relay(long at) {
    return target
        .link()
        .relay(
            origin.link(),
            from.backing().device(),
            source.from(),
            to.backing().device(),
            at,
            bytes);
  }
}
