package dev.tidepool.benchmarks;

import dev.tidepool.link.StagingAllocator;
import dev.tidepool.pool.block.Lease;
import dev.tidepool.pool.block.MemoryPool;
import dev.tidepool.pool.block.PoolLimits;
import dev.tidepool.pool.block.PooledBlock;
import dev.tidepool.pooling.EvictionPolicy;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;

/** Page-locked blocks of one device, for transfers without a manager. */
final class StagingBlocks implements StagingAllocator, AutoCloseable {
  private static final long KEPT = 64 << 20;

  private final MemoryPool pool;

  StagingBlocks(Device device) {
    pool =
        new MemoryPool(
            "staging",
            (bytes, alignment) -> device.allocate(bytes, alignment, BlockKind.PINNED),
            new PoolLimits(true, KEPT, KEPT, KEPT, EvictionPolicy.LRU, false));
  }

  @Override
  public Lease lease(long bytes, boolean pinned) {
    PooledBlock block = pool.take(bytes, 1, true);
    block.occupy(this);
    return new Lease(block);
  }

  @Override
  public void close() {
    pool.close();
  }
}
