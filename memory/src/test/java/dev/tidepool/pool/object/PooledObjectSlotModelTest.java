package dev.tidepool.pool.object;

import dev.tidepool.pool.ModelChecks;
import java.util.concurrent.atomic.AtomicInteger;
import org.jetbrains.lincheck.datastructures.Operation;
import org.junit.jupiter.api.Test;

/**
 * A member is taken from its slot, comes back to it or to another one, and is returned twice, in
 * all ways that a model checker finds: it never has two owners, and a thread that takes it from a
 * slot finds it there.
 */
public class PooledObjectSlotModelTest {
  private final PooledObject<Object> member = new PooledObject<>(new Object(), 1, 0);
  private final AtomicInteger holders = new AtomicInteger();

  /** Creates a leased member with a place. */
  public PooledObjectSlotModelTest() {
    member.settle(0);
    if (!member.tryOwnAt(0)) {
      throw new AssertionError("nobody else could have taken it");
    }
    member.lease();
  }

  /** Takes it from a slot, and hands it out. */
  private void takeFrom(int slot) {
    if (member.tryOwnAt(slot)) {
      if (member.place != slot) {
        throw new AssertionError("it was taken from slot " + slot + ", and is of " + member.place);
      }
      own();
      member.lease();
    }
  }

  private void own() {
    if (holders.incrementAndGet() != 1) {
      throw new AssertionError("it has two owners");
    }
    holders.decrementAndGet();
  }

  /** From the slot that it had at first. */
  @Operation
  public boolean takeFromTheFirst() {
    takeFrom(0);
    return true;
  }

  /** From the slot that it may come back to. */
  @Operation
  public boolean takeFromTheSecond() {
    takeFrom(1);
    return true;
  }

  /** Comes back to its slot, or to the second one if its own was taken from it. */
  @Operation
  public boolean comeBack() {
    long word = member.word();
    if (!member.tryReturn(word) && member.tryTakeBack(word)) {
      own();
      member.settle(1);
    }
    return true;
  }

  /** Another one takes its slot. */
  @Operation
  public boolean displace() {
    member.tryDisplaceFrom(0);
    return true;
  }

  @Test
  void whoTakesAMemberFromASlotOwnsItAloneAndFindsItThere() {
    ModelChecks.options()
        .actorsPerThread(3)
        .actorsBefore(0)
        .actorsAfter(1)
        .check(PooledObjectSlotModelTest.class);
  }
}
