package dev.tidepool.pooling;

import java.time.Duration;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;

/**
 * How an {@link ObjectPool} makes, keeps and ends its objects; collected by {@link
 * ObjectPool.Builder}, which says what each option means.
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
 * @param create makes an object
 * @param reset makes a returned object as good as new
 * @param validate whether an idle object may be handed out
 * @param destroy ends an object
 * @param sizer how large an object is, in any unit
 * @param maximumObjectSize larger objects are not kept, in the sizer's unit
 * @param minimum idle objects that maintenance provides
 * @param maximum idle objects that are kept
 * @param eviction which idle object goes first
 * @param timeToLive for {@link EvictionPolicy#TIME_TO_LIVE}; zero with others
 * @param idleTimeout after which maintenance lets an unused object go; zero means never
 * @param maintenanceInterval between two maintenances; zero means on request alone
 * @param <T> the objects
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

  /** Checks that the options go together. */
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
