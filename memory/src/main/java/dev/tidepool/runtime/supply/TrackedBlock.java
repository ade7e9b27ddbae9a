package dev.tidepool.runtime.supply;

import dev.tidepool.spi.Block;

/**
 * A block that a session's resources list until it is freed. The device gets the original
 * {@linkplain #whole() block}. Compared by identity.
 */
final class TrackedBlock implements ForwardingBlock {
  private final SessionResources resources;
  private final Block block;

  TrackedBlock(SessionResources resources, Block block) {
    this.resources = resources;
    this.block = block;
  }

  @Override
  public Block block() {
    return block;
  }

  @Override
  public void free() {
    try {
      resources.closed(this);
    } finally {
      // Even if the heap is too full for the counters of the set, which no test can provoke.
      block.free();
    }
  }
}
