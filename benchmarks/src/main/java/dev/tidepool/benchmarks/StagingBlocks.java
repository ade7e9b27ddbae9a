package dev.tidepool.benchmarks;

import dev.tidepool.link.Staging;
import dev.tidepool.pool.BlockPool;
import dev.tidepool.pool.Lease;
import dev.tidepool.pool.PooledBlock;
import dev.tidepool.pooling.EvictionPolicy;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;

/** Page-locked blocks of one device, for transfers without a manager. */
final class StagingBlocks implements Staging, AutoCloseable {
  private static final long KEPT = 64 << 20;

  private final BlockPool pool;

  StagingBlocks(Device device) {
    pool =
        new BlockPool(
            "staging",
            (bytes, alignment) -> device.allocate(bytes, alignment, BlockKind.PINNED),
            64,
            new BlockPool.Limits(true, KEPT, KEPT, KEPT, EvictionPolicy.LRU, false));
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
