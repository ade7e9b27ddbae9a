package dev.tidepool.runtime.supply;

import dev.tidepool.spi.Block;

/**
 * A block that counts in a budget until it is freed. The device gets the {@linkplain #whole()
 * block} itself.
 */
record BudgetedBlock(Block block, Budget budget, long charged) implements ForwardingBlock {
  /** What counts the bytes of blocks. Never throws. */
  @FunctionalInterface
  interface Budget {
    /** A block is about to be freed. */
    default void freeing(long bytes) {}

    /** A block has been freed, as far as the driver did that. */
    void freed(long bytes);
  }

  /**
   * Wraps a block that its caller has just got; frees the block if the heap is full.
   *
   * @param budget an object that is there already
   */
  static BudgetedBlock over(Block block, Budget budget, long charged) {
    try {
      return new BudgetedBlock(block, budget, charged);
    } catch (OutOfMemoryError e) {
      block.free();
      throw e;
    }
  }

  /** Returns whether it, or the one in it, counts in a budget. */
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
