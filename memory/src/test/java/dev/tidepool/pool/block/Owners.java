package dev.tidepool.pool.block;

import dev.tidepool.pooling.EvictionPolicy;
import java.util.concurrent.atomic.AtomicIntegerArray;

/** The owners of the blocks of a model: one each at most. */
final class Owners {
  /** A pool that keeps nothing and has no source: what the model's blocks belong to. */
  static final MemoryPool NO_POOL =
      new MemoryPool(
          "model",
          (bytes, alignment) -> {
            throw new AssertionError("the model allocates nothing");
          },
          new PoolLimits(true, 0, 0, 0, EvictionPolicy.LRU, false));

  // 1 while somebody has the block.
  private final AtomicIntegerArray owners;

  /** So many blocks, all of them idle. */
  Owners(int blocks) {
    owners = new AtomicIntegerArray(blocks);
  }

  /** Somebody has taken a block, which must be idle. */
  void own(int block) {
    if (!owners.compareAndSet(block, 0, 1)) {
      throw new AssertionError("block " + block + " has two owners");
    }
  }

  /** Whether somebody has a block. */
  boolean isOwned(int block) {
    return owners.get(block) == 1;
  }

  /** Lets its owner give a block up, if it has one. */
  boolean giveUp(int block) {
    return owners.compareAndSet(block, 1, 0);
  }
}
