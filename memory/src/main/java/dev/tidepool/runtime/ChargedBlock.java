package dev.tidepool.runtime;

import dev.tidepool.spi.Block;
import dev.tidepool.spi.HostAccess;
import java.lang.foreign.MemorySegment;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * A block that counts in a budget until it is freed. The device gets the {@linkplain #whole()
 * block} itself.
 *
 * @param giveBack takes the charged bytes off the budget; never throws
 */
record ChargedBlock(Block block, LongConsumer giveBack, long charged) implements Block {
  @Override
  public long byteSize() {
    return block.byteSize();
  }

  @Override
  public HostAccess hostAccess() {
    return block.hostAccess();
  }

  @Override
  public @Nullable MemorySegment segment() {
    return block.segment();
  }

  @Override
  public Block whole() {
    return block.whole();
  }

  @Override
  public long start() {
    return block.start();
  }

  @Override
  public void free() {
    try {
      block.free();
    } finally {
      giveBack.accept(charged);
    }
  }
}
