package dev.tidepool.pool;

import dev.tidepool.EvictionPolicy;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.junit.jupiter.api.Test;

/**
 * All ways in which the blocks of a board change hands, tried by a model checker: no block ever has
 * two owners.
 */
public class BoardModelTest {
  private static final int BLOCKS = 2;

  private final Board board = new Board(0);
  private final AtomicIntegerArray owners = new AtomicIntegerArray(BLOCKS);

  /** A board with one block idle and one taken. */
  public BoardModelTest() {
    BlockPool pool =
        new BlockPool(
            "model",
            (bytes, alignment) -> {
              throw new AssertionError("the model allocates nothing");
            },
            64,
            new BlockPool.Limits(true, 0, 0, 0, EvictionPolicy.LRU, false));
    for (int i = 0; i < BLOCKS; i++) {
      PooledBlock block = new PooledBlock(pool, new BareBlock(), i, 0, null);
      if (!board.settle(block)) {
        throw new AssertionError("the board has room");
      }
    }
    owners.set(1, 1);
    board.put(1);
  }

  private void own(int block) {
    if (!owners.compareAndSet(block, 0, 1)) {
      throw new AssertionError("a block has two owners");
    }
  }

  private boolean giveBack(int block) {
    if (owners.compareAndSet(block, 1, 0) && (board.put(1L << block) & (1L << block)) != 0) {
      throw new AssertionError("a block that somebody had was idle");
    }
    return true;
  }

  /** Takes any block. */
  @Operation
  public boolean take() {
    PooledBlock block = board.take();
    if (block != null) {
      own((int) block.bytes);
    }
    return true;
  }

  /** Takes the first block, if it is idle. */
  @Operation
  public boolean takeFirst() {
    if (board.take(1)) {
      own(0);
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
    new ModelCheckingOptions()
        .iterations(30)
        .invocationsPerIteration(500)
        .threads(2)
        .actorsPerThread(2)
        .actorsBefore(0)
        .actorsAfter(2)
        .check(BoardModelTest.class);
  }
}
