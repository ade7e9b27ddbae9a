package dev.tidepool.pool.block;

import dev.tidepool.pool.ModelChecks;
import org.jetbrains.lincheck.datastructures.Operation;
import org.junit.jupiter.api.Test;

/**
 * All ways in which the blocks of a bitmap change hands, tried by a model checker: no block ever
 * has two owners.
 */
public class SlotBitmapModelTest {
  private static final int BLOCKS = 2;

  private final SlotBitmap bitmap = new SlotBitmap(0);
  private final Owners owners = new Owners(BLOCKS);

  /** Creates a bitmap with one block idle and one taken. */
  public SlotBitmapModelTest() {
    for (int i = 0; i < BLOCKS; i++) {
      PooledBlock block = new PooledBlock(Owners.NO_POOL, new BareBlock(), i, 0, null);
      if (!bitmap.settle(block)) {
        throw new AssertionError("the bitmap has a free place");
      }
    }
    owners.own(1);
    bitmap.put(1);
  }

  private boolean giveBack(int block) {
    if (owners.giveUp(block) && (bitmap.put(1L << block) & (1L << block)) != 0) {
      throw new AssertionError("a block that somebody had was idle");
    }
    return true;
  }

  /** Takes any block. */
  @Operation
  public boolean take() {
    PooledBlock block = bitmap.take();
    if (block != null) {
      owners.own((int) block.bytes);
    }
    return true;
  }

  /** Takes the first block, if it is idle. */
  @Operation
  public boolean takeFirst() {
    if (bitmap.take(1)) {
      owners.own(0);
    }
    return true;
  }

  /** Gives the first block back, if somebody has it. */
  @Operation
  public boolean giveFirstBack() {
    return giveBack(0);
  }

  /** Gives the second block back, if somebody has it. */
  @Operation
  public boolean giveSecondBack() {
    return giveBack(1);
  }

  @Test
  void noBlockHasTwoOwners() {
    ModelChecks.options()
        .actorsPerThread(2)
        .actorsBefore(0)
        .actorsAfter(2)
        .check(SlotBitmapModelTest.class);
  }
}
