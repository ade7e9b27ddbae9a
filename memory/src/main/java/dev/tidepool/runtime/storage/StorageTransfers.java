package dev.tidepool.runtime.storage;

import dev.tidepool.link.CoalescedCopy;
import dev.tidepool.link.DeviceLink;
import dev.tidepool.link.Direction;
import dev.tidepool.link.HostRegion;
import dev.tidepool.link.TransferContext;
import dev.tidepool.pool.block.Lease;
import dev.tidepool.transfer.TransferWay;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * Moves a storage's bytes between its two copies, and between them and the spill file. It changes
 * no state; {@link Coherence} and {@link StorageSpill} call it under the lock {@code moving}.
 */
final class StorageTransfers {
  private final DeviceLink link;
  private final BackingBlocks backing;

  StorageTransfers(DeviceLink link, BackingBlocks backing) {
    this.link = link;
    this.backing = backing;
  }

  /** Transfers ranges from one copy to the other, together. */
  TransferWay move(Direction direction, List<DirtyRanges.Range> ranges) {
    List<CoalescedCopy.Move> moves = ranges.stream().map(this::moveOf).toList();
    return direction == Direction.HOST_TO_DEVICE
        ? link.coalesced().upload(moves)
        : link.coalesced().download(moves);
  }

  private CoalescedCopy.Move moveOf(DirtyRanges.Range range) {
    MemorySegment host = backing.host().asSlice(range.from(), range.bytes());
    return new CoalescedCopy.Move(
        new HostRegion.Segment(host, backing.isHostDirect()), backing.device(), range.from());
  }

  /**
   * Writes the device's copy to the file through a staging block.
   *
   * @param size the bytes of the storage
   */
  void writeToFile(SpillFile.Extent extent, long size, Lease staging) {
    MemorySegment block = staging.segment();
    long step = staging.block().byteSize();
    for (long at = 0; at < size; at += step) {
      MemorySegment part = block.asSlice(0, Math.min(step, size - at));
      HostRegion passing = new HostRegion.Segment(part, true);
      long from = at;
      var _ = TransferContext.aside(() -> link.download(backing.device(), from, passing));
      extent.write(at, part);
    }
  }

  /** Reads the file's bytes into a block that is about to become a copy. */
  void readFromFile(SpillFile.Extent extent, Lease lease) {
    if (takesTurns(lease)) {
      link.acquire(lease.block());
    }
    try {
      extent.read(backing.segment(lease));
    } finally {
      if (takesTurns(lease)) {
        link.release(lease.block());
      }
    }
  }

  /** Returns whether host and device must use a block in turn that becomes both copies. */
  boolean takesTurns(Lease lease) {
    return backing.isShared() && BackingBlocks.isMapped(lease.block());
  }
}
