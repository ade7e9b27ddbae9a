package dev.tidepool.runtime;

import dev.tidepool.host.PinnedBudget;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.HostAccess;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * A page-locked block that counts in the budget of all managers until it is freed. The device gets
 * the {@linkplain #whole() block} itself.
 */
record BudgetedBlock(Block block, PinnedBudget budget, long charged) implements Block {
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
      budget.giveBack(charged);
    }
  }
}
