package dev.tidepool.pool.block;

import dev.tidepool.Allocation;
import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.pool.ModelChecks;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Validate;
import org.junit.jupiter.api.Test;

/**
 * A block that lies near a thread is taken, copied to and closed by its dormant tenant, woken and
 * claimed by others, in all ways that a model checker finds: it never has two owners, and each
 * tenant's hold ends once.
 */
public class HolderModelTest {
  private static final int MOST_TENANTS = 16;

  private final PooledBlock block;
  private final Owners owners = new Owners(1);
  private final AtomicIntegerArray ends = new AtomicIntegerArray(MOST_TENANTS);

  /** What the handle of the latest tenant knows. */
  private final AtomicLong latest = new AtomicLong();

  /** The latest tenant that handed its memory out. */
  private final AtomicLong exposed = new AtomicLong();

  /** Creates an idle block. */
  public HolderModelTest() {
    block = new PooledBlock(Owners.NO_POOL, new BareBlock(), 1024, 0, null);
    block.layDown();
  }

  private void ended(long tenant) {
    if (ends.incrementAndGet((int) tenant) > 1) {
      throw new AssertionError("the hold of tenant " + tenant + " ended twice");
    }
  }

  /** A new dormant tenant. */
  @Operation
  public boolean allocate() {
    long number = block.nextDormant();
    if (block.isLaidDown() && block.takeUp(number)) {
      owners.own(0);
      latest.set(number);
      owners.giveUp(0);
      block.occupyDormant(number, ElementType.BYTE, 1, Allocation.at(MemoryLocation.HOST), "watch");
    }
    return true;
  }

  /** The handle closes, perhaps for the second time. */
  @Operation
  public boolean close() {
    long number = latest.get();
    if (block.layDownDormant(number, 0)) {
      ended(number);
    } else if (block.endDormancy(number)) {
      owners.own(0);
      ended(number);
      owners.giveUp(0);
      block.layDown();
    }
    return true;
  }

  /** The tenant copies, perhaps on two threads. */
  @Operation
  public boolean copy() {
    long number = latest.get();
    if (block.beginCopy(number, 0)) {
      owners.own(0);
      owners.giveUp(0);
      block.endCopy(number);
    }
    return true;
  }

  /** The tenant hands its memory out as a segment, the first time or again. */
  @Operation
  public boolean expose() {
    long number = latest.get();
    if (!block.exposeAgain(number, 0) && block.expose(number, 0)) {
      exposed.set(number);
    }
    return true;
  }

  /** Somebody finds the tenant and wakes it, and gives the block back then. */
  @Operation
  public boolean wake() {
    PooledBlock.Dormant found = block.dormant();
    if (found != null && block.endDormancy(found.number())) {
      owners.own(0);
      ended(found.number());
      owners.giveUp(0);
      block.layDown();
    }
    return true;
  }

  /** A trim takes the block and gives it back. */
  @Operation
  public boolean claim() {
    if (block.takeUp()) {
      owners.own(0);
      owners.giveUp(0);
      block.layDown();
    }
    return true;
  }

  /** At the end the block is idle, or its latest tenant has it. */
  @Validate
  public void theBlockIsNotLost() {
    boolean held = block.isDormant(latest.get());
    if (held == block.isLaidDown()) {
      throw new AssertionError("the block is lost, or idle while somebody has it");
    }
    if (exposed.get() == latest.get() && latest.get() > 0 && !block.isExposed(latest.get())) {
      throw new AssertionError("it is forgotten that a segment was handed out");
    }
    if (held && ends.get((int) latest.get()) != 0) {
      throw new AssertionError("a tenant whose hold ended has the block");
    }
  }

  @Test
  void noOrderOfEventsGivesABlockTwoOwnersOrEndsAHoldTwice() {
    ModelChecks.options()
        .actorsPerThread(2)
        .actorsBefore(1)
        .actorsAfter(1)
        .check(HolderModelTest.class);
  }
}
