package dev.tidepool.runtime.supply;

import dev.tidepool.host.MemoryAllocator;
import dev.tidepool.pool.block.MemoryPool;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.HostAccess;

/**
 * A source that surrounds each block with guard zones, for the paranoid level: another source is
 * asked for more, and what lies between the zones is handed out. The first zone is as long as the
 * block's alignment, so the part between the zones has it too.
 *
 * <p>Blocks that the host does not reach at all times have none, because they could not be checked.
 * Blocks that would be too large for the device with zones have none either.
 */
record GuardedSource(MemoryPool.Source source, long largest) implements MemoryPool.Source {
  @Override
  public Block allocate(long bytes, long alignment) {
    long aligned = Math.max(alignment, MemoryAllocator.defaultAlignment(bytes));
    long front = Math.max(GuardedBlock.ZONE, aligned);
    if (bytes > largest - front - GuardedBlock.ZONE) {
      return source.allocate(bytes, alignment);
    }
    Block whole = source.allocate(front + bytes + GuardedBlock.ZONE, alignment);
    try {
      return whole.hostAccess() == HostAccess.DIRECT
          ? new GuardedBlock(whole, front, bytes)
          : whole;
    } catch (Throwable e) {
      // The heap may be full.
      whole.free();
      throw e;
    }
  }
}
