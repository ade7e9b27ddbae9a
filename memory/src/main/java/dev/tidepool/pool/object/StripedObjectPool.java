package dev.tidepool.pool.object;

import dev.tidepool.pool.block.Lease;
import dev.tidepool.pooling.ObjectPool;
import dev.tidepool.pooling.ObjectPoolOptions;
import dev.tidepool.pooling.ObjectPoolStatistics;
import dev.tidepool.spi.support.FailureLog;
import dev.tidepool.spi.support.RankedSort;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * An object pool whose steady state takes no lock, allocates nothing, and writes nothing that
 * threads of other stripes write. One exchange and stores to its own {@link PooledObject} hand out
 * an object. One exchange takes it back; the object is found by its identity in the {@link
 * IdentityTable}.
 *
 * <p>The owner of a member (see there) may destroy it: it first removes it from the table. No lock
 * is held while the user's functions run.
 */
public final class StripedObjectPool<T> implements ObjectPool<T> {
  private final ObjectPoolOptions<T> options;
  private final LongSupplier nanoClock;
  private final IdleObjectOrder<T> order;
  private final ObjectSlots<T> places;
  private final IdentityTable<T> table = new IdentityTable<>();
  private final AtomicLong numbers = new AtomicLong();
  private final AtomicBoolean maintaining = new AtomicBoolean();
  private volatile boolean closed;

  /** Assigned before another thread sees the pool. */
  private @Nullable ObjectPoolMaintenance maintenance;

  private final LongAdder misses = new LongAdder();
  private final LongAdder created = new LongAdder();
  private final LongAdder evicted = new LongAdder();
  private final LongAdder invalid = new LongAdder();
  private final LongAdder oversized = new LongAdder();
  private final LongAdder discarded = new LongAdder();
  private final LongAdder leasesOfTheDestroyed = new LongAdder();

  /**
   * Creates a pool without objects.
   *
   * @param quota limits idle objects; other pools may share it
   * @param charge the charge of each idle object
   * @param nanoClock measures the age of objects
   */
  StripedObjectPool(
      ObjectPoolOptions<T> options, IdleQuota quota, long charge, LongSupplier nanoClock) {
    this.options = options;
    this.nanoClock = nanoClock;
    this.order =
        new IdleObjectOrder<>(options.eviction(), options.timeToLive().toNanos(), nanoClock);
    this.places = new ObjectSlots<>(order, quota, charge);
  }

  /** Returns a pool filled to its minimum, with a maintenance thread if the options request one. */
  public static <T> ObjectPool<T> open(ObjectPoolOptions<T> options) {
    return open(options, System::nanoTime);
  }

  /** Returns a pool filled to its minimum, with a maintenance thread if the options request one. */
  static <T> ObjectPool<T> open(ObjectPoolOptions<T> options, LongSupplier nanoClock) {
    StripedObjectPool<T> pool =
        new StripedObjectPool<>(options, new IdleQuota(options.maximum()), 1, nanoClock);
    boolean opened = false;
    try {
      pool.refill();
      if (!options.maintenanceInterval().isZero()) {
        pool.maintenance = ObjectPoolMaintenance.start(pool, options.maintenanceInterval());
      }
      opened = true;
    } finally {
      if (!opened) {
        pool.close();
      }
    }
    return pool;
  }

  @Override
  public T get() {
    return take(options.create()).object;
  }

  @Override
  public Lease<T> lease() {
    return new ObjectLease<>(this, take(options.create()));
  }

  /** Hands out an idle object, or a new one if none is idle. */
  PooledObject<T> take(Supplier<? extends T> create) {
    checkOpen();
    PooledObject<T> member = places.take();
    while (member != null) {
      if (isFit(member)) {
        member.lease();
        return member;
      }
      member = places.take();
    }
    return createLeased(create);
  }

  private PooledObject<T> createLeased(Supplier<? extends T> create) {
    PooledObject<T> member = enrol(create);
    misses.increment();
    member.lease();
    return member;
  }

  /** Creates a member that the caller owns. */
  private PooledObject<T> enrol(Supplier<? extends T> create) {
    T object =
        Objects.requireNonNull(create.get(), "the create function of an object pool gave null");
    PooledObject<T> member =
        new PooledObject<>(object, numbers.incrementAndGet(), nanoClock.getAsLong());
    if (!table.add(member)) {
      throw new IllegalStateException(
          "the create function of an object pool gave "
              + described(object)
              + ", which the pool has already; it must make a new object each time");
    }
    created.increment();
    return member;
  }

  /** Returns whether an owned member may be handed out. If not, it is destroyed. */
  private boolean isFit(PooledObject<T> member) {
    if (order.hasExpired(member)) {
      destroy(member, evicted);
      return false;
    }
    boolean valid = false;
    try {
      valid = options.validate().test(member.object);
    } catch (RuntimeException e) {
      failed("validated", member.object, e);
    } finally {
      if (!valid) {
        destroy(member, invalid);
      }
    }
    return valid;
  }

  @Override
  public void put(T object) {
    PooledObject<T> member = known(object);
    long word = member.word();
    if (!PooledObject.isOut(word) || !putBack(member, word)) {
      throw returnedAlready(object);
    }
  }

  @Override
  public void discard(T object) {
    PooledObject<T> member = known(object);
    if (!member.tryTakeBack(member.word())) {
      throw returnedAlready(object);
    }
    destroy(member, discarded);
  }

  /**
   * Takes an object back from a lease. If that lease has ended, changes nothing and returns false.
   *
   * <p>The object is reset before the exchange that ends the lease, not between two exchanges. This
   * makes returning cheap. A second return that comes after the first is refused before it touches
   * the object. Only two simultaneous returns may both reset it.
   */
  boolean putBack(PooledObject<T> member, long word) {
    LongAdder flaw;
    try {
      flaw = flawAfterReset(member.object);
    } catch (Error e) {
      takeBackAndDestroy(member, word, invalid);
      throw e;
    }
    if (flaw != null) {
      return takeBackAndDestroy(member, word, flaw);
    }
    member.returnedTick = places.tick();
    if (!member.tryReturn(word) && !putBackWithoutPlace(member, word)) {
      return false;
    }
    sweepIfClosed();
    return true;
  }

  private @Nullable LongAdder flawAfterReset(T object) {
    if (closed) {
      return discarded;
    }
    try {
      options.reset().accept(object);
      return options.sizer().applyAsLong(object) > options.maximumObjectSize() ? oversized : null;
    } catch (RuntimeException e) {
      failed("reset or measured", object, e);
      return invalid;
    }
  }

  private boolean putBackWithoutPlace(PooledObject<T> member, long word) {
    if (!member.tryTakeBack(word)) {
      return false;
    }
    settle(member);
    return true;
  }

  /** Makes an owned member idle, and destroys the member that is evicted for it, if any. */
  private void settle(PooledObject<T> member) {
    PooledObject<T> surplus = places.settle(member);
    if (surplus != null) {
      destroy(surplus, evicted);
    }
  }

  private boolean takeBackAndDestroy(PooledObject<T> member, long word, LongAdder cause) {
    boolean taken = member.tryTakeBack(word);
    if (taken) {
      destroy(member, cause);
    }
    return taken;
  }

  /** Destroys an owned member. */
  private void destroy(PooledObject<T> member, LongAdder cause) {
    places.vacate(member);
    table.remove(member);
    leasesOfTheDestroyed.add(member.leases());
    cause.increment();
    try {
      options.destroy().accept(member.object);
    } catch (Throwable e) {
      // Not an error of the caller, which returns an object or requests another.
      failed("destroyed", member.object, e);
    }
  }

  @Override
  public void maintain() {
    if (closed || !maintaining.compareAndSet(false, true)) {
      return;
    }
    try {
      places.alignClocks();
      evictUnused(evictExpired());
      refill();
    } finally {
      maintaining.set(false);
    }
    sweepIfClosed();
  }

  /** Destroys expired members. Returns the other idle members. */
  private List<PooledObject<T>> evictExpired() {
    List<PooledObject<T>> idle = new ArrayList<>();
    for (PooledObject<T> member : idle()) {
      if (!order.hasExpired(member)) {
        idle.add(member);
      } else if (places.take(member)) {
        destroy(member, evicted);
      }
    }
    return idle;
  }

  private void evictUnused(List<PooledObject<T>> idle) {
    long timeout = options.idleTimeout().toNanos();
    if (timeout == 0) {
      return;
    }
    long now = nanoClock.getAsLong();
    List<PooledObject<T>> unused = new ArrayList<>();
    for (PooledObject<T> member : idle) {
      long leases = member.leases();
      if (member.seenLeases != leases) {
        member.seenLeases = leases;
        member.seenNanos = now;
      } else if (now - member.seenNanos >= timeout) {
        unused.add(member);
      }
    }
    int surplus = idle.size() - options.minimum();
    for (PooledObject<T> member : RankedSort.by(order::rank, unused.stream())) {
      if (surplus <= 0) {
        return;
      }
      if (places.take(member)) {
        surplus--;
        if (member.leases() == member.seenLeases) {
          destroy(member, evicted);
        } else {
          // Used since the check.
          settle(member);
        }
      }
    }
  }

  private void refill() {
    for (int lacking = options.minimum() - idle().size(); lacking > 0 && !closed; lacking--) {
      PooledObject<T> member = enrol(options.create());
      member.returnedTick = places.tick();
      settle(member);
    }
  }

  private List<PooledObject<T>> idle() {
    return table.members().stream().filter(PooledObject::isIdle).toList();
  }

  /** Destroys all idle objects. Returns their total size. */
  long trim(ToLongFunction<? super T> size) {
    long trimmed = 0;
    for (PooledObject<T> member : idle()) {
      if (places.take(member)) {
        trimmed += size.applyAsLong(member.object);
        destroy(member, discarded);
      }
    }
    return trimmed;
  }

  long idleSize(ToLongFunction<? super T> size) {
    return idle().stream().mapToLong(member -> size.applyAsLong(member.object)).sum();
  }

  /** Returns the total size of the leased objects. */
  long leasedSize(ToLongFunction<? super T> size) {
    return table.members().stream()
        .filter(PooledObject::isOut)
        .mapToLong(member -> size.applyAsLong(member.object))
        .sum();
  }

  /** Destroys idle objects if the pool was closed while a member became idle. */
  private void sweepIfClosed() {
    if (closed) {
      trim(object -> 1);
    }
  }

  @Override
  public ObjectPoolStatistics statistics() {
    long missed = misses.sum();
    long gets = leasesOfTheDestroyed.sum();
    long idle = 0;
    long leased = 0;
    for (PooledObject<T> member : table.members()) {
      gets += member.leases();
      idle += member.isIdle() ? 1 : 0;
      leased += member.isOut() ? 1 : 0;
    }
    long gone = evicted.sum() + invalid.sum() + oversized.sum() + discarded.sum();
    return new ObjectPoolStatistics(
        gets,
        Math.max(0, gets - missed),
        created.sum(),
        gone,
        evicted.sum(),
        invalid.sum(),
        oversized.sum(),
        discarded.sum(),
        idle,
        leased);
  }

  @Override
  public void close() {
    closed = true;
    if (maintenance != null) {
      maintenance.close();
    }
    trim(object -> 1);
  }

  boolean isClosed() {
    return closed;
  }

  private void checkOpen() {
    if (closed) {
      throw new IllegalStateException("the object pool is closed; open another");
    }
  }

  private PooledObject<T> known(T object) {
    PooledObject<T> member = table.find(Objects.requireNonNull(object, "object"));
    if (member == null) {
      throw new IllegalArgumentException(
          described(object)
              + " is not of this pool, or the pool destroyed it; return objects to the pool that"
              + " gave them, once");
    }
    return member;
  }

  private static IllegalStateException returnedAlready(Object object) {
    return new IllegalStateException(
        described(object)
            + " was returned already; it may have another holder by now, so do not use it either");
  }

  private static String described(Object object) {
    // Not the object's toString, which may fail.
    return object.getClass().getSimpleName()
        + "@"
        + Integer.toHexString(System.identityHashCode(object));
  }

  private static void failed(String what, Object object, Throwable failure) {
    FailureLog.warn(
        described(object), " could not be ", what + "; the pool has let it go", failure);
  }

  @Override
  public String toString() {
    ObjectPoolStatistics now = statistics();
    return "ObjectPool[" + now.idle() + " idle, " + now.leased() + " leased]";
  }
}
