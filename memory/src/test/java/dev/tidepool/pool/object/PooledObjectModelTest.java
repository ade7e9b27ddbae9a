package dev.tidepool.pool.object;

import dev.tidepool.pool.ModelChecks;
import org.jetbrains.lincheck.datastructures.Operation;
import org.junit.jupiter.api.Test;

/**
 * All ways in which an object changes hands, tried by a model checker: each exchange looks as if it
 * had happened at one moment.
 */
public class PooledObjectModelTest {
  private final PooledObject<Object> member = new PooledObject<>(new Object(), 1, 0);

  /** Creates a leased member with a place. */
  public PooledObjectModelTest() {
    member.settle(0);
    if (!member.tryOwnAt(0)) {
      throw new AssertionError("nobody else could have taken it");
    }
    member.lease();
  }

  /** Leased to idle. */
  @Operation
  public boolean giveBack() {
    return member.tryReturn(member.word());
  }

  /** Idle to owned. */
  @Operation
  public boolean own() {
    return member.tryOwnAt(0);
  }

  /** Leased to displaced. */
  @Operation
  public boolean displace() {
    return member.tryDisplaceFrom(0);
  }

  /** Leased or displaced to owned. */
  @Operation
  public boolean takeBack() {
    return member.tryTakeBack(member.word());
  }

  @Test
  void everyExchangeHappensAtOneMoment() {
    ModelChecks.options()
        .actorsPerThread(2)
        .actorsBefore(0)
        .actorsAfter(1)
        .check(PooledObjectModelTest.class);
  }
}
