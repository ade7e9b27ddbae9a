package dev.tidepool.runtime;

import dev.tidepool.pool.Lease;
import dev.tidepool.runtime.flight.Flight;
import dev.tidepool.runtime.flight.TransferEvent;
import dev.tidepool.transfer.Direction;
import dev.tidepool.transfer.HostBytes;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Objects;

/**
 * The copy of one buffer to another, by the shortest way from where the source's newest bytes are:
 * within the host, within the device or between devices that reach each other, up, down, or down
 * and up through a host block.
 */
final class BufferCopy {
  private final TypedBuffer<?> source;
  private final TypedBuffer<?> destination;
  private final Residency from;
  private final Residency to;
  private final long bytes;

  private BufferCopy(TypedBuffer<?> source, TypedBuffer<?> destination) {
    this.source = source;
    this.destination = destination;
    this.from = source.storage().residency();
    this.to = destination.storage().residency();
    this.bytes = source.bytes();
  }

  /** The copy as work in the order of both storages. */
  static Work work(TypedBuffer<?> source, TypedBuffer<?> destination) {
    Storage target = destination.storage();
    BufferCopy copy = new BufferCopy(source, destination);
    return Work.of(
        List.of(Use.read(source.storage()), Use.write(target)),
        target.memory().transferThreads(),
        () -> {
          try {
            if (copy.bytes > 0) {
              copy.run();
            }
          } catch (RuntimeException | Error e) {
            throw Failures.transfer(e, "copying " + source + " to " + destination);
          }
        });
  }

  private void run() {
    if (from.copies().isShared() || from.hostHasNewest(source.from(), source.to())) {
      fromHost();
    } else if (reachesOnDevice()) {
      onDevice();
    } else if (to.copies().isShared() || to.writesOnHost()) {
      toHost();
    } else {
      throughHost();
    }
  }

  private void fromHost() {
    MemorySegment host = source.part(from.readable());
    to.copyIn(new HostBytes.Segment(host, from.copies().isHostOwned()), destination.from());
  }

  private void toHost() {
    MemorySegment target =
        to.targetOnHost(destination.from(), destination.from() + bytes)
            .asSlice(destination.from(), bytes);
    from.copyOut(source.from(), new HostBytes.Segment(target, to.copies().isHostOwned()));
  }

  /**
   * Whether the destination's device copy is there to be written and its device reaches the source.
   */
  private boolean reachesOnDevice() {
    return !to.copies().isShared()
        && to.takesDeviceWrites()
        && destination.storage().memory().reaches(source.storage().memory());
  }

  private void onDevice() {
    AcceleratorMemory memory = destination.storage().memory();
    TransferEvent event = Flight.transfer();
    long start = System.nanoTime();
    long at = destination.from();
    if (overlaps()) {
      Lease between = memory.blocks().forDevice(bytes, this);
      try {
        memory.link().copy(from.copies().device(), source.from(), between.block(), 0, bytes);
        memory.link().copy(between.block(), 0, to.copies().device(), at, bytes);
      } finally {
        if (memory.overwroteAbandoned(between.block())) {
          between.release();
        } else {
          between.discard();
        }
      }
    } else {
      var target = to.deviceForWrite(at, at + bytes, true);
      memory.link().copy(from.copies().device(), source.from(), target, at, bytes);
    }
    to.deviceWritten(at, at + bytes);
    Direction direction = Direction.DEVICE_TO_DEVICE;
    memory.meter().moved(direction, bytes, System.nanoTime() - start, false);
    if (event != null) {
      String tag = destination.storage().tenancy().tag();
      event.moved(memory.id(), direction.name(), false, tag, bytes);
    }
  }

  private boolean overlaps() {
    return source.storage() == destination.storage()
        && source.from() < destination.from() + bytes
        && destination.from() < source.to();
  }

  private void throughHost() {
    AcceleratorMemory memory = destination.storage().memory();
    long step = Math.min(bytes, memory.stagingChunk());
    Lease lease = memory.blocks().forStaging(step);
    try {
      MemorySegment block = Objects.requireNonNull(lease.block().segment(), "staging");
      for (long at = 0; at < bytes; at += step) {
        HostBytes part = new HostBytes.Segment(block.asSlice(0, Math.min(step, bytes - at)), true);
        from.copyOut(source.from() + at, part);
        to.copyIn(part, destination.from() + at);
      }
    } finally {
      lease.release();
    }
  }
}
