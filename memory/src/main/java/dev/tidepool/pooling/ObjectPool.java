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
 * maximum bounds the idle objects. The pool knows every object that it made until the object is
 * destroyed. So it always detects the return of a foreign object, and a second return. It also
 * knows an object that is never returned: {@link #discard} objects that must not come back.
 *
 * <p>The pool calls its functions without a lock, on the thread that gets, returns or maintains. If
 * a function fails while an object is returned or examined, the object is destroyed and the failure
 * is logged; an {@link Error} is also thrown. If {@code create} fails, {@link #get()} throws the
 * failure, and the pool is unchanged.
 *
 * <p>Thread-safe, also for virtual threads. What a thread did with an object before its return
 * happens before what the next holder does with it.
 *
 * @param <T> the objects; they are told apart by identity
 */
public interface ObjectPool<T> extends AutoCloseable {
  /** The right to use an object until it is closed. */
  interface Lease<T> extends AutoCloseable {
    /**
     * Returns the object.
     *
     * @throws IllegalStateException if the lease was closed
     */
    T object();

    /** Returns the object; a second call does nothing. */
    @Override
    void close();
  }

  /**
   * Begins a pool.
   *
   * @param create makes an object, and never returns one that the pool has already
   */
  static <T> Builder<T> builder(Supplier<? extends T> create) {
    return new Builder<>(create);
  }

  /** Returns a pool as the options say, filled to its minimum. */
  static <T> ObjectPool<T> create(ObjectPoolOptions<T> options) {
    return TidepoolRuntime.installed().createObjectPool(options);
  }

  /**
   * Returns an object that has no other holder: an idle one if there is one, else a new one.
   *
   * @throws IllegalStateException if the pool is closed, or {@code create} gave an object that the
   *     pool has already
   */
  T get();

  /**
   * Takes an object back; the caller must not use it any more. In a closed pool it is destroyed.
   *
   * @throws IllegalArgumentException if the object is not of this pool, or was destroyed
   * @throws IllegalStateException if it was returned already
   */
  void put(T object);

  /**
   * Takes an object back and destroys it, such as one that is broken.
   *
   * @throws IllegalArgumentException if the object is not of this pool, or was destroyed
   * @throws IllegalStateException if it was returned already
   */
  void discard(T object);

  /**
   * Like {@link #get()}, for {@code try}. A closed lease does not affect later leases of the same
   * object.
   */
  Lease<T> lease();

  /**
   * Destroys idle objects that are older than their time to live; then those that were not used for
   * the idle timeout, in the order of the policy, down to the minimum. Then creates objects up to
   * the minimum. Does nothing if it is running already or the pool is closed.
   *
   * <p>The pool does not record when an object came back, because that would cost more than the
   * rest of the return. An object counts as unused since a maintenance first found it idle, or
   * since it was created.
   */
  void maintain();

  /** Returns the figures now; takes time in proportion to the objects. */
  ObjectPoolStatistics statistics();

  /**
   * Destroys what is idle; objects that come back later are destroyed at once. Idempotent; throws
   * nothing.
   */
  @Override
  void close();

  /** Collects options; not safe for concurrent use. */
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

    /** Makes an object as good as new; called when it comes back. */
    public Builder<T> reset(Consumer<? super T> reset) {
      this.reset = reset;
      return this;
    }

    /**
     * Sets the test whether an idle object may be handed out; others are destroyed. Called before
     * an object is handed out.
     */
    public Builder<T> validate(Predicate<? super T> validate) {
      this.validate = validate;
      return this;
    }

    /** Ends an object; called once for each, when no thread can get it any more. */
    public Builder<T> destroy(Consumer<? super T> destroy) {
      this.destroy = destroy;
      return this;
    }

    /**
     * Destroys objects that are larger when they come back; by default none.
     *
     * @param size in the unit of {@code sizer}
     * @param sizer how large an object is
     */
    public Builder<T> maximumObjectSize(long size, ToLongFunction<? super T> sizer) {
      this.maximumObjectSize = size;
      this.sizer = sizer;
      return this;
    }

    /** Idle objects that the pool has from the beginning and after each maintenance; 0. */
    public Builder<T> minimum(int objects) {
      this.minimum = objects;
      return this;
    }

    /** Idle objects that are kept at most; 1024. More may be in use at a time. */
    public Builder<T> maximum(int objects) {
      this.maximum = objects;
      return this;
    }

    /** Which idle object goes first; the least recently used. */
    public Builder<T> eviction(EvictionPolicy policy) {
      this.eviction = policy;
      return this;
    }

    /** How old an object becomes; makes {@link EvictionPolicy#TIME_TO_LIVE} the policy. */
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
     * every minute. Zero means on request alone, without a thread.
     */
    public Builder<T> maintenanceInterval(Duration interval) {
      this.maintenanceInterval = interval;
      return this;
    }

    /**
     * Returns the options as they stand.
     *
     * @throws IllegalArgumentException if one is out of its range
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
     * Returns the pool, filled to its minimum.
     *
     * @throws IllegalArgumentException if an option is out of its range
     */
    public ObjectPool<T> build() {
      return ObjectPool.create(options());
    }
  }
}
