package dev.tidepool.runtime.supply;

import dev.tidepool.host.MemoryAllocator;
import dev.tidepool.pool.block.MemoryPool;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.HostAccess;

/**
 * A source that surrounds each block with guard zones, for the paranoid level. It requests a larger
 * block of another source and returns the part between the zones. The first zone is a multiple of
 * the alignment, so the part is aligned too.
 *
 * <p>Blocks that the host cannot access at all times get no zones, because the zones could not be
 * checked. Blocks that would be too large for the device get none either.
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
