package dev.tidepool.pooling;

import java.time.Duration;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;

/**
 * Options of an {@link ObjectPool}. Built by {@link ObjectPool.Builder}, whose methods state the
 * defaults.
 *
 * {@snippet :
 * ObjectPoolOptions<byte[]> options =
 *     ObjectPool.builder(() -> new byte[4096]).minimum(4).maximum(64).options();
 * try (ObjectPool<byte[]> pool = ObjectPool.create(options)) {
 *   byte[] bytes = pool.get();
 *   pool.put(bytes);
 * }
 * }
 *
 * @param create creates an object
 * @param reset restores a returned object for its next use
 * @param validate tests whether an idle object may be leased
 * @param destroy releases an object
 * @param sizer returns the size of an object, in any unit
 * @param maximumObjectSize the largest size of an object that is kept, in the sizer's unit
 * @param minimum the idle objects that maintenance provides
 * @param maximum the most idle objects that are kept
 * @param eviction which idle object is destroyed first
 * @param timeToLive the greatest age of an object with {@link EvictionPolicy#TIME_TO_LIVE}; zero
 *     with other policies
 * @param idleTimeout the time without use after which maintenance destroys an object; zero means
 *     never
 * @param maintenanceInterval the time between two maintenances; zero means only on request
 * @param <T> the type of the objects
 */
public record ObjectPoolOptions<T>(
    Supplier<? extends T> create,
    Consumer<? super T> reset,
    Predicate<? super T> validate,
    Consumer<? super T> destroy,
    ToLongFunction<? super T> sizer,
    long maximumObjectSize,
    int minimum,
    int maximum,
    EvictionPolicy eviction,
    Duration timeToLive,
    Duration idleTimeout,
    Duration maintenanceInterval) {

  /**
   * Checks that the options are consistent.
   *
   * @throws IllegalArgumentException if an option is out of its range
   */
  public ObjectPoolOptions {
    Objects.requireNonNull(create, "create");
    Objects.requireNonNull(reset, "reset");
    Objects.requireNonNull(validate, "validate");
    Objects.requireNonNull(destroy, "destroy");
    Objects.requireNonNull(sizer, "sizer");
    Objects.requireNonNull(eviction, "eviction");
    check(maximumObjectSize >= 0, "maximumObjectSize", maximumObjectSize, "0 or more");
    check(maximum >= 0, "maximum", maximum, "0 or more");
    check(
        minimum >= 0 && minimum <= maximum,
        "minimum",
        minimum,
        "from 0 to the maximum, which is " + maximum);
    checkDuration("timeToLive", timeToLive);
    checkDuration("idleTimeout", idleTimeout);
    checkDuration("maintenanceInterval", maintenanceInterval);
    check(
        eviction == EvictionPolicy.TIME_TO_LIVE != timeToLive.isZero(),
        "timeToLive",
        timeToLive,
        "more than zero with eviction TIME_TO_LIVE, and zero with "
            + EvictionPolicy.LRU
            + ", "
            + EvictionPolicy.LFU
            + " and "
            + EvictionPolicy.FIFO
            + "; eviction is "
            + eviction);
  }

  private static void checkDuration(String name, Duration duration) {
    Objects.requireNonNull(duration, name);
    check(
        !duration.isNegative() && duration.compareTo(Duration.ofNanos(Long.MAX_VALUE)) <= 0,
        name,
        duration,
        "from zero to " + Duration.ofNanos(Long.MAX_VALUE).toDays() + " days");
  }

  private static void check(boolean holds, String name, Object value, String rule) {
    if (!holds) {
      throw new IllegalArgumentException(
          "the " + name + " of an object pool is " + value + "; it must be " + rule);
    }
  }
}
