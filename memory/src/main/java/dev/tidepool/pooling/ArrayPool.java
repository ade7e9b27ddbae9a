package dev.tidepool.pooling;

import dev.tidepool.ElementType;
import dev.tidepool.TidepoolRuntime;

/**
 * A pool of arrays on the Java heap, for example for results that a program reads once.
 *
 * {@snippet :
 * try (ArrayPool<float[]> arrays = ArrayPool.create(ElementType.FLOAT)) {
 *   float[] array = arrays.rent(1000); // 1000 elements or more, contents undefined
 *   arrays.giveBack(array);
 * }
 * }
 *
 * <p>Lengths are rounded up to size classes. An array above 4 KiB is at most 12.5% larger than
 * requested; the bytes of a smaller one are a power of two, at least 1 KiB. An array serves only
 * requests of its own class. Arrays above 1 GiB have exactly the requested length and are not kept.
 *
 * <p>The pool tracks every array in use, so it always detects the return of a foreign array and a
 * second return.
 *
 * <p>Thread-safe, also for virtual threads. Actions on an array before its return happen-before
 * actions of the next holder.
 *
 * @param <A> the type of the arrays, such as {@code float[]}
 */
public interface ArrayPool<A> extends AutoCloseable {
  /** When arrays are filled with zeros. A new array is always all zeros. */
  enum Clearing {
    /** Never: an array has the contents that its last holder left. */
    NEVER,

    /** When an array that had a holder before is rented again. */
    ON_RENT,

    /** When an array is returned, so that the pool keeps none of its contents. */
    ON_RETURN
  }

  /**
   * Creates a pool, independent of any manager, that keeps at most 64 MiB of idle arrays and never
   * clears them.
   *
   * @throws IllegalArgumentException if the elements are records
   */
  static <A> ArrayPool<A> create(ElementType<A> type) {
    return create(type, 64L << 20, Clearing.NEVER);
  }

  /**
   * Creates a pool, independent of any manager.
   *
   * @param maximumBytes the most bytes of idle arrays that the pool keeps; it drops arrays returned
   *     beyond that for the garbage collector
   * @param clearing when arrays are filled with zeros
   * @throws IllegalArgumentException if the elements are records, or {@code maximumBytes} is
   *     negative
   */
  static <A> ArrayPool<A> create(ElementType<A> type, long maximumBytes, Clearing clearing) {
    return TidepoolRuntime.installed().createArrayPool(type, maximumBytes, clearing);
  }

  /** Returns the type of the arrays' elements. */
  ElementType<A> elementType();

  /**
   * Returns an array of at least {@code minimumLength} elements that has no other holder.
   *
   * @param minimumLength 0 or more
   * @throws IllegalArgumentException if {@code minimumLength} is negative
   * @throws IllegalStateException if the pool is closed
   */
  A rent(int minimumLength);

  /**
   * Gives an array back to the pool. The caller must not use it any more.
   *
   * @throws IllegalArgumentException if the array is not of this pool
   * @throws IllegalStateException if the array was already returned
   */
  void giveBack(A array);

  /** Drops idle arrays for the garbage collector, and returns how many bytes were dropped. */
  long trim();

  /** Returns the current figures. Takes time in proportion to the number of arrays. */
  ArrayPoolStatistics statistics();

  /** Drops idle arrays for the garbage collector, also those returned later. Idempotent. */
  @Override
  void close();
}
