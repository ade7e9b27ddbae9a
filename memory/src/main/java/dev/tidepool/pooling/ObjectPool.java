package dev.tidepool.pooling;

import dev.tidepool.TidepoolRuntime;
import java.time.Duration;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;

/**
 * A pool of objects that are expensive to create.
 *
 * {@snippet :
 * try (ObjectPool<StringBuilder> builders =
 *     ObjectPool.builder(StringBuilder::new)
 *         .reset(builder -> builder.setLength(0))
 *         .maximum(100)
 *         .build()) {
 *   try (ObjectPool.Lease<StringBuilder> lease = builders.lease()) {
 *     lease.object().append("text");
 *   }
 * }
 * }
 *
 * <p>{@link #get()} never waits: if no object is idle, it creates one, however many are in use. The
 * maximum bounds the idle objects. The pool tracks every object that it created until the object is
 * destroyed, so it always detects the return of a foreign object and a second return. It also
 * tracks objects that are never returned: {@link #discard} objects that you will not return.
 *
 * <p>The pool calls its functions without holding a lock, on the thread that gets, returns or
 * maintains objects. If a function fails while an object is returned or examined, the object is
 * destroyed and the failure is logged; an {@link Error} is also thrown. If {@code create} fails,
 * {@link #get()} throws the failure, and the pool is unchanged.
 *
 * <p>Thread-safe, also for virtual threads. Actions on an object before its return happen-before
 * actions of the next holder.
 *
 * @param <T> the type of the objects, which the pool compares by identity
 */
public interface ObjectPool<T> extends AutoCloseable {
  /** The right to use an object until the lease is closed. */
  interface Lease<T> extends AutoCloseable {
    /**
     * Returns the object.
     *
     * @throws IllegalStateException if the lease is closed
     */
    T object();

    /** Gives the object back to the pool. A second call does nothing. */
    @Override
    void close();
  }

  /**
   * Returns a builder for a pool.
   *
   * @param create creates an object; must not return an object that the pool already has
   */
  static <T> Builder<T> builder(Supplier<? extends T> create) {
    return new Builder<>(create);
  }

  /** Creates a pool with options, filled to its minimum. */
  static <T> ObjectPool<T> create(ObjectPoolOptions<T> options) {
    return TidepoolRuntime.installed().createObjectPool(options);
  }

  /**
   * Returns an object that has no other holder: an idle one if there is one, otherwise a new one.
   *
   * @throws IllegalStateException if the pool is closed, or {@code create} returned an object that
   *     the pool already has
   */
  T get();

  /**
   * Gives an object back to the pool. The caller must not use it any more. A closed pool destroys
   * the object.
   *
   * @throws IllegalArgumentException if the object is not of this pool, or was destroyed
   * @throws IllegalStateException if it was returned already
   */
  void put(T object);

  /**
   * Destroys an object instead of returning it to the pool, for example because it is broken.
   *
   * @throws IllegalArgumentException if the object is not of this pool, or was destroyed
   * @throws IllegalStateException if it was returned already
   */
  void discard(T object);

  /**
   * Like {@link #get()}, for {@code try}-with-resources. A closed lease does not affect later
   * leases of the same object.
   */
  Lease<T> lease();

  /**
   * Destroys idle objects that are older than their time to live. Then destroys objects that were
   * not used for the idle timeout, in the order of the policy, down to the minimum. Then creates
   * objects up to the minimum. Does nothing if it is already running or the pool is closed.
   *
   * <p>The pool does not record when an object was returned, because that would cost more than the
   * rest of the return. An object counts as unused since a maintenance first found it idle, or
   * since its creation.
   */
  void maintain();

  /** Returns the current figures. Takes time in proportion to the number of objects. */
  ObjectPoolStatistics statistics();

  /**
   * Closes the pool and destroys the idle objects. Objects that are returned later are destroyed at
   * once. Idempotent; throws nothing.
   */
  @Override
  void close();

  /** Builds a pool or its options. Not safe for concurrent use. */
  final class Builder<T> {
    private final Supplier<? extends T> create;
    private Consumer<? super T> reset = object -> {};
    private Predicate<? super T> validate = object -> true;
    private Consumer<? super T> destroy = object -> {};
    private ToLongFunction<? super T> sizer = object -> 0;
    private long maximumObjectSize = Long.MAX_VALUE;
    private int minimum;
    private int maximum = 1024;
    private EvictionPolicy eviction = EvictionPolicy.LRU;
    private Duration timeToLive = Duration.ZERO;
    private Duration idleTimeout = Duration.ZERO;
    private Duration maintenanceInterval = Duration.ofMinutes(1);

    private Builder(Supplier<? extends T> create) {
      this.create = create;
    }

    /**
     * Sets the function that restores a returned object for its next use. By default it does
     * nothing.
     */
    public Builder<T> reset(Consumer<? super T> reset) {
      this.reset = reset;
      return this;
    }

    /**
     * Sets the test of an idle object before it is leased again. Objects that fail the test are
     * destroyed. By default all objects pass.
     */
    public Builder<T> validate(Predicate<? super T> validate) {
      this.validate = validate;
      return this;
    }

    /**
     * Sets the function that releases an object. The pool calls it once for each object, when no
     * thread can get the object any more. By default it does nothing.
     */
    public Builder<T> destroy(Consumer<? super T> destroy) {
      this.destroy = destroy;
      return this;
    }

    /**
     * Sets the size above which returned objects are destroyed; by default there is none.
     *
     * @param size the largest size that is kept, in the unit of {@code sizer}
     * @param sizer returns the size of an object
     */
    public Builder<T> maximumObjectSize(long size, ToLongFunction<? super T> sizer) {
      this.maximumObjectSize = size;
      this.sizer = sizer;
      return this;
    }

    /**
     * Sets how many idle objects the pool has at its creation and after each maintenance; 0 by
     * default.
     */
    public Builder<T> minimum(int objects) {
      this.minimum = objects;
      return this;
    }

    /** Sets the most idle objects that the pool keeps; 1024 by default. More may be in use. */
    public Builder<T> maximum(int objects) {
      this.maximum = objects;
      return this;
    }

    /** Sets which idle object is destroyed first; the least recently used by default. */
    public Builder<T> eviction(EvictionPolicy policy) {
      this.eviction = policy;
      return this;
    }

    /** Sets the greatest age of an object, and the policy {@link EvictionPolicy#TIME_TO_LIVE}. */
    public Builder<T> timeToLive(Duration age) {
      this.eviction = EvictionPolicy.TIME_TO_LIVE;
      this.timeToLive = age;
      return this;
    }

    /**
     * Sets the time without use after which maintenance destroys an object; zero, the default,
     * means never.
     */
    public Builder<T> idleTimeout(Duration time) {
      this.idleTimeout = time;
      return this;
    }

    /**
     * Sets how often a daemon thread of the pool {@linkplain ObjectPool#maintain() maintains} it;
     * every minute by default. Zero means only on request, without a thread.
     */
    public Builder<T> maintenanceInterval(Duration interval) {
      this.maintenanceInterval = interval;
      return this;
    }

    /**
     * Returns the options.
     *
     * @throws IllegalArgumentException if an option is out of its range
     */
    public ObjectPoolOptions<T> options() {
      return new ObjectPoolOptions<>(
          create,
          reset,
          validate,
          destroy,
          sizer,
          maximumObjectSize,
          minimum,
          maximum,
          eviction,
          timeToLive,
          idleTimeout,
          maintenanceInterval);
    }

    /**
     * Creates the pool, filled to its minimum.
     *
     * @throws IllegalArgumentException if an option is out of its range
     */
    public ObjectPool<T> build() {
      return ObjectPool.create(options());
    }
  }
}
