package dev.tidepool.pool;

import dev.tidepool.ObjectPool;
import java.time.Duration;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.junit.jupiter.api.Test;

/**
 * The ways in which two threads can meet in an object pool, tried by a model checker: whatever they
 * do, it looks as if one had come after the other.
 */
class ObjectPoolModelTest {
  /** What the pools hold. */
  private static final class Thing {
    final AtomicBoolean held = new AtomicBoolean();
  }

  private static ObjectPool<Thing> pool(int maximum) {
    return ObjectPool.builder(Thing::new)
        .maximum(maximum)
        .maintenanceInterval(Duration.ZERO)
        .build();
  }

  /** Objects are handed out and come back, near and far, while the pool has room for one or two. */
  public abstract static class Exchange {
    private final ObjectPool<Thing> pool;
    private final ConcurrentLinkedQueue<Thing> out = new ConcurrentLinkedQueue<>();

    Exchange(int maximum) {
      pool = pool(maximum);
    }

    /** Whether the object was nobody else's. */
    @Operation
    public boolean get() {
      Thing thing = pool.get();
      boolean alone = thing.held.compareAndSet(false, true);
      out.add(thing);
      return alone;
    }

    /** Whether there was one to return. */
    @Operation
    public boolean put() {
      Thing thing = out.poll();
      if (thing == null) {
        return false;
      }
      thing.held.set(false);
      pool.put(thing);
      return true;
    }
  }

  /** Room for one object. */
  public static final class ExchangeOfOne extends Exchange {
    public ExchangeOfOne() {
      super(1);
    }
  }

  /** Room for two. */
  public static final class ExchangeOfTwo extends Exchange {
    public ExchangeOfTwo() {
      super(2);
    }
  }

  /** One object that several threads return. */
  public static final class Returns {
    private final ObjectPool<Thing> pool = pool(1);
    private Thing thing;

    /** Whether the return was taken. */
    @Operation
    public boolean put() {
      try {
        pool.put(thing());
        return true;
      } catch (IllegalStateException e) {
        return false;
      }
    }

    private synchronized Thing thing() {
      if (thing == null) {
        // The second time it has a place to come back to.
        pool.put(pool.get());
        thing = pool.get();
      }
      return thing;
    }
  }

  private static ModelCheckingOptions options() {
    return new ModelCheckingOptions()
        .iterations(5)
        .invocationsPerIteration(300)
        .threads(2)
        .actorsPerThread(3)
        .actorsBefore(2)
        .actorsAfter(1);
  }

  @Test
  void noTwoThreadsHoldTheOnlyObject() {
    options().check(ExchangeOfOne.class);
  }

  @Test
  void noTwoThreadsHoldOneOfTwoObjects() {
    options().check(ExchangeOfTwo.class);
  }

  @Test
  void ofSeveralReturnsOneIsTaken() {
    // Only the first is, so nothing may come before the threads do.
    options().actorsBefore(0).iterations(1).check(Returns.class);
  }
}
