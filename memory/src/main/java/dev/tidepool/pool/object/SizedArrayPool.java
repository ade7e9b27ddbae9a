package dev.tidepool.pool.object;

import dev.tidepool.ElementType;
import dev.tidepool.pool.SizeClasses;
import dev.tidepool.pooling.ArrayPool;
import dev.tidepool.pooling.ArrayPoolStatistics;
import dev.tidepool.pooling.ObjectPool;
import dev.tidepool.pooling.ObjectPoolOptions;
import dev.tidepool.pooling.ObjectPoolStatistics;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * An array pool: one object pool for each size class, created on demand. All are charged to one
 * quota of bytes. Arrays above the largest class have a pool that keeps none.
 */
public final class SizedArrayPool<A> implements ArrayPool<A> {
  private static final IdleQuota NOTHING = new IdleQuota(0);

  private final ElementType<A> type;
  private final Clearing clearing;
  private final IdleQuota quota;
  private final Duration idleTimeout;
  private final LongSupplier nanoClock;
  private final AtomicReferenceArray<@Nullable StripedObjectPool<A>> pools =
      new AtomicReferenceArray<>(SizeClasses.COUNT_WITH_BEYOND);
  private volatile boolean closed;

  /**
   * Creates a pool.
   *
   * @param quota the limit of idle bytes, which other pools may share
   * @param idleTimeout after which {@link #maintain()} drops unused arrays
   */
  SizedArrayPool(
      ElementType<A> type,
      Clearing clearing,
      IdleQuota quota,
      Duration idleTimeout,
      LongSupplier nanoClock) {
    if (type.isStruct()) {
      throw new IllegalArgumentException(
          "array pools keep arrays of primitives, not of "
              + type
              + "; pool such arrays with an"
              + " ObjectPool");
    }
    this.type = type;
    this.clearing = clearing;
    this.quota = quota;
    this.idleTimeout = idleTimeout;
    this.nanoClock = nanoClock;
  }

  /** Returns a pool with its own quota. */
  public static <A> ArrayPool<A> open(ElementType<A> type, long maximumBytes, Clearing clearing) {
    if (maximumBytes < 0) {
      throw new IllegalArgumentException(
          "the maximumBytes of an array pool are " + maximumBytes + "; they must be 0 or more");
    }
    return new SizedArrayPool<>(
        type, clearing, new IdleQuota(maximumBytes), Duration.ZERO, System::nanoTime);
  }

  @Override
  public ElementType<A> elementType() {
    return type;
  }

  @Override
  public A rent(int minimumLength) {
    if (minimumLength < 0) {
      throw new IllegalArgumentException(
          "an array of " + minimumLength + " elements was asked for; ask for 0 or more");
    }
    if (closed) {
      throw new IllegalStateException("the array pool of " + type + " is closed; open another");
    }
    int sizeClass = classOf(minimumLength);
    StripedObjectPool<A> pool = pool(sizeClass);
    return sizeClass == SizeClasses.BEYOND
        ? pool.take(() -> type.newArray(minimumLength)).object
        : pool.get();
  }

  @Override
  public void giveBack(A array) {
    pool(classOf(type.length(array))).put(array);
  }

  private int classOf(int length) {
    long bytes = type.bytes(length);
    return bytes > SizeClasses.LARGEST ? SizeClasses.BEYOND : SizeClasses.coarseIndexOf(bytes);
  }

  private StripedObjectPool<A> pool(int sizeClass) {
    StripedObjectPool<A> pool = pools.get(sizeClass);
    return pool != null ? pool : newPool(sizeClass);
  }

  private StripedObjectPool<A> newPool(int sizeClass) {
    boolean beyond = sizeClass == SizeClasses.BEYOND;
    long bytes = beyond ? 1 : SizeClasses.bytesOf(sizeClass);
    int length = Math.toIntExact(bytes / type.byteSize());
    StripedObjectPool<A> pool =
        new StripedObjectPool<>(options(length), beyond ? NOTHING : quota, bytes, nanoClock);
    StripedObjectPool<A> earlier = pools.compareAndExchange(sizeClass, null, pool);
    if (earlier != null) {
      return earlier;
    }
    if (closed) {
      pool.close();
    }
    return pool;
  }

  private ObjectPoolOptions<A> options(int length) {
    ObjectPool.Builder<A> builder =
        ObjectPool.<A>builder(() -> type.newArray(length)).idleTimeout(idleTimeout);
    switch (clearing) {
      case NEVER -> {}
      case ON_RETURN -> builder.reset(SizedArrayPool::clear);
      // Called for each idle array that is about to be handed out, and for no other.
      case ON_RENT ->
          builder.validate(
              array -> {
                clear(array);
                return true;
              });
    }
    return builder.options();
  }

  private static void clear(Object array) {
    switch (array) {
      case byte[] bytes -> Arrays.fill(bytes, (byte) 0);
      case short[] shorts -> Arrays.fill(shorts, (short) 0);
      case int[] ints -> Arrays.fill(ints, 0);
      case long[] longs -> Arrays.fill(longs, 0);
      case float[] floats -> Arrays.fill(floats, 0);
      case double[] doubles -> Arrays.fill(doubles, 0);
      case boolean[] booleans -> Arrays.fill(booleans, false);
      default -> throw new IllegalArgumentException(array.getClass() + " is no array that is kept");
    }
  }

  @Override
  public long trim() {
    return open().stream().mapToLong(pool -> pool.trim(this::bytes)).sum();
  }

  private long bytes(A array) {
    return type.bytes(type.length(array));
  }

  /** Drops arrays that were unused for the idle timeout; see {@link ObjectPool#maintain()}. */
  void maintain() {
    open().forEach(StripedObjectPool::maintain);
  }

  private List<StripedObjectPool<A>> open() {
    List<StripedObjectPool<A>> open = new ArrayList<>();
    for (int i = 0; i < pools.length(); i++) {
      StripedObjectPool<A> pool = pools.get(i);
      if (pool != null) {
        open.add(pool);
      }
    }
    return open;
  }

  @Override
  public ArrayPoolStatistics statistics() {
    long rents = 0;
    long hits = 0;
    long idle = 0;
    long rented = 0;
    long dropped = 0;
    long idleBytes = 0;
    long rentedBytes = 0;
    for (StripedObjectPool<A> pool : open()) {
      ObjectPoolStatistics of = pool.statistics();
      rents += of.gets();
      hits += of.hits();
      idle += of.idle();
      rented += of.leased();
      dropped += of.destroyed();
      idleBytes += pool.idleSize(this::bytes);
      rentedBytes += pool.leasedSize(this::bytes);
    }
    return new ArrayPoolStatistics(rents, hits, idle, idleBytes, rented, rentedBytes, dropped);
  }

  @Override
  public void close() {
    closed = true;
    open().forEach(StripedObjectPool::close);
  }

  boolean isClosed() {
    return closed;
  }

  @Override
  public String toString() {
    ArrayPoolStatistics now = statistics();
    return "ArrayPool["
        + type
        + ", "
        + now.idleArrays()
        + " idle, "
        + now.rentedArrays()
        + " rented]";
  }
}
