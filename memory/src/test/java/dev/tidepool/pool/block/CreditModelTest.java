package dev.tidepool.pool.block;

import dev.tidepool.pool.ModelChecks;
import dev.tidepool.pool.SizeClasses;
import dev.tidepool.pooling.EvictionPolicy;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Validate;
import org.junit.jupiter.api.Test;

/**
 * Credits are taken away while their blocks come back, in all ways that a model checker finds:
 * nobody loses a block, nobody gets one twice, and the cap holds.
 */
public class CreditModelTest {
  private static final int BYTES = 1024;
  private static final int CLASS = SizeClasses.classOf(BYTES);

  /** Room for one idle block of the class. */
  private static final PoolLimits LIMITS =
      new PoolLimits(true, 1 << 20, BYTES, 0, EvictionPolicy.LRU, false);

  private final IdleBlocks idle = new IdleBlocks(LIMITS, this::own, () -> 0);
  private final PooledBlock[] blocks = {
    new PooledBlock(Owners.NO_POOL, new BareBlock(), BYTES, CLASS, null),
    new PooledBlock(Owners.NO_POOL, new BareBlock(), BYTES, CLASS, null)
  };

  private final Owners owners = new Owners(blocks.length);

  /** Two blocks, both leased, the first one with a credit. */
  public CreditModelTest() {
    for (PooledBlock block : blocks) {
      idle.settle(block);
    }
    if (!idle.put(blocks[0]) || idle.takeAny(CLASS) != blocks[0]) {
      throw new AssertionError("the first block is idle");
    }
    owners.own(0);
    owners.own(1);
  }

  private void own(PooledBlock block) {
    owners.own(block == blocks[0] ? 0 : 1);
  }

  private boolean giveBack(int number) {
    if (!owners.giveUp(number)) {
      return true;
    }
    if (!idle.put(blocks[number])) {
      own(blocks[number]);
    }
    return true;
  }

  /** The first block comes back with its credit, or without. */
  @Operation
  public boolean giveFirstBack() {
    return giveBack(0);
  }

  /** The second block needs the room that the first one's credit takes up. */
  @Operation
  public boolean giveSecondBack() {
    return giveBack(1);
  }

  /** Somebody takes a block. */
  @Operation
  public boolean take() {
    PooledBlock block = idle.takeAny(CLASS);
    if (block != null) {
      own(block);
    }
    return true;
  }

  /** Somebody trims. */
  @Operation
  public boolean claimFirst() {
    if (idle.take(blocks[0])) {
      own(blocks[0]);
    }
    return true;
  }

  /** At the end no block is lost: each has an owner or is idle, and what is idle is charged. */
  @Validate
  public void nothingIsLost() {
    int idleBlocks = 0;
    for (int i = 0; i < blocks.length; i++) {
      boolean isIdle = blocks[i].isIdle();
      idleBlocks += isIdle ? 1 : 0;
      if (isIdle == owners.isOwned(i)) {
        throw new AssertionError("block " + i + " is lost, or idle while somebody has it");
      }
    }
    if (idleBlocks > 1) {
      throw new AssertionError("the cap of one idle block is broken");
    }
  }

  @Test
  void noOrderOfEventsLosesABlockOrLeasesItTwice() {
    ModelChecks.options()
        .actorsPerThread(2)
        .actorsBefore(0)
        .actorsAfter(1)
        // A walk over places is no livelock.
        .loopBound(500)
        .check(CreditModelTest.class);
  }
}
