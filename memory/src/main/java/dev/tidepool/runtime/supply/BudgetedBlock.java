package dev.tidepool.runtime.supply;

import dev.tidepool.spi.Block;

/**
 * A block that is charged to a budget until it is freed. The device gets the original {@linkplain
 * #whole() block}.
 */
record BudgetedBlock(Block block, Budget budget, long charged) implements ForwardingBlock {
  /** Counts the bytes of blocks. Never throws. */
  interface Budget {
    /** Called before a block is freed. */
    default void freeing(long bytes) {}

    /** Called after a block was freed, even if the driver failed to do so. */
    void freed(long bytes);
  }

  /**
   * Wraps a new block; frees the block if the heap is full.
   *
   * @param budget an existing object, because the heap may be full
   */
  static BudgetedBlock over(Block block, Budget budget, long charged) {
    try {
      return new BudgetedBlock(block, budget, charged);
    } catch (OutOfMemoryError e) {
      block.free();
      throw e;
    }
  }

  /** Returns whether this block, or one that it wraps, is charged to a budget. */
  boolean countsIn(Budget other) {
    return budget.equals(other) || (block instanceof BudgetedBlock in && in.countsIn(other));
  }

  @Override
  public void free() {
    budget.freeing(charged);
    try {
      block.free();
    } finally {
      budget.freed(charged);
    }
  }
}
