package dev.tidepool.pool.object;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryOptions;
import dev.tidepool.pooling.ArrayPool;
import dev.tidepool.pooling.ArrayPoolStatistics;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.ToLongFunction;

/**
 * The array pools of one manager, one for each element type. They share a quota of idle bytes, are
 * trimmed together, and are added up in the manager's statistics.
 */
public final class ArrayPools implements AutoCloseable {
  private static final long MOST_IDLE = 4L << 30;

  private final IdleQuota quota;
  private final ArrayPool.Clearing clearing;
  private final Duration idleTimeout;
  private final Map<ElementType<?>, SizedArrayPool<?>> pools = new ConcurrentHashMap<>();

  /** The counts of pools closed early, because totals must not fall. Guarded by this. */
  private ArrayPoolStatistics earlier = new ArrayPoolStatistics(0, 0, 0, 0, 0, 0, 0);

  /** Creates the pools for a manager's options, without any pool yet. */
  public ArrayPools(MemoryOptions options) {
    this(
        idleBytes(options),
        options.zeroOnRelease() ? ArrayPool.Clearing.ON_RETURN : ArrayPool.Clearing.NEVER,
        options.trimInterval());
  }

  private static long idleBytes(MemoryOptions options) {
    if (!options.pooling()) {
      return 0;
    }
    return options.maxPoolBytes() == -1
        ? Math.min(Runtime.getRuntime().maxMemory() / 4, MOST_IDLE)
        : options.maxPoolBytes();
  }

  /**
   * Creates the pools, without any pool yet.
   *
   * @param maximumBytes of idle arrays of all types
   * @param clearing when arrays are filled with zeros
   * @param idleTimeout after which {@link #maintain()} drops unused arrays; zero means never
   */
  public ArrayPools(long maximumBytes, ArrayPool.Clearing clearing, Duration idleTimeout) {
    this.quota = new IdleQuota(maximumBytes);
    this.clearing = clearing;
    this.idleTimeout = idleTimeout;
  }

  /**
   * Returns the pool of a type, or a new one if the last was closed.
   *
   * @throws IllegalArgumentException if the elements are records
   */
  @SuppressWarnings("unchecked") // a type's pool is made for that type
  public <A> ArrayPool<A> of(ElementType<A> type) {
    SizedArrayPool<?> pool = pools.get(Objects.requireNonNull(type, "type"));
    return (ArrayPool<A>) (pool == null || pool.isClosed() ? open(type) : pool);
  }

  private synchronized SizedArrayPool<?> open(ElementType<?> type) {
    SizedArrayPool<?> last = pools.get(type);
    if (last != null && !last.isClosed()) {
      return last;
    }
    SizedArrayPool<?> fresh = newPool(type);
    if (last != null) {
      ArrayPoolStatistics closed = last.statistics();
      earlier =
          new ArrayPoolStatistics(
              earlier.rents() + closed.rents(), earlier.hits() + closed.hits(), 0, 0, 0, 0, 0);
    }
    pools.put(type, fresh);
    return fresh;
  }

  private <A> SizedArrayPool<A> newPool(ElementType<A> type) {
    return new SizedArrayPool<>(type, clearing, quota, idleTimeout, System::nanoTime);
  }

  /** Drops idle arrays. Returns their bytes. */
  public long trim() {
    return pools.values().stream().mapToLong(ArrayPool::trim).sum();
  }

  /** Drops arrays that were unused for the idle timeout, as far as this is known. */
  public void maintain() {
    pools.values().forEach(SizedArrayPool::maintain);
  }

  /**
   * Returns a figure added up over all pools. Replaced pools count only with their rents and hits.
   * Their arrays that are still rented belong to no pool.
   */
  public synchronized long sum(ToLongFunction<ArrayPoolStatistics> figure) {
    long sum = figure.applyAsLong(earlier);
    for (ArrayPool<?> pool : pools.values()) {
      sum += figure.applyAsLong(pool.statistics());
    }
    return sum;
  }

  @Override
  public void close() {
    pools.values().forEach(ArrayPool::close);
  }
}
