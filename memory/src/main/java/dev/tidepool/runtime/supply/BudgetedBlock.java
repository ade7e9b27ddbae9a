package dev.tidepool.runtime.supply;

import dev.tidepool.spi.Block;
import java.util.function.LongConsumer;

/**
 * A block that counts in a budget until it is freed. The device gets the {@linkplain #whole()
 * block} itself.
 *
 * @param giveBack takes the charged bytes off the budget; never throws
 */
record BudgetedBlock(Block block, LongConsumer giveBack, long charged) implements ForwardingBlock {
  /**
   * A block that its caller has just got, and that a full heap does not lose.
   *
   * @param giveBack an object that is there already
   */
  static BudgetedBlock over(Block block, LongConsumer giveBack, long charged) {
    try {
      return new BudgetedBlock(block, giveBack, charged);
    } catch (OutOfMemoryError e) {
      block.free();
      throw e;
    }
  }

  /** Whether it, or the one in it, counts in the budget that has it back so. */
  boolean countsFor(LongConsumer budget) {
    return giveBack.equals(budget) || (block instanceof BudgetedBlock in && in.countsFor(budget));
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
