package dev.tidepool.pooling;

import dev.tidepool.ElementType;
import dev.tidepool.TidepoolRuntime;

/**
 * A pool of arrays on the Java heap, for example for results of kernels that are read once.
 *
 * {@snippet :
 * try (ArrayPool<float[]> arrays = ArrayPool.create(ElementType.FLOAT)) {
 *   float[] array = arrays.rent(1000); // 1000 elements or more, contents undefined
 *   arrays.giveBack(array);
 * }
 * }
 *
 * <p>Lengths are rounded up to size classes. An array above 4 KiB is at most 12.5% larger than
 * requested; a smaller one has a power of two of bytes, at least 1 KiB. An array serves requests of
 * its own class only. Arrays above 1 GiB have exactly the requested length and are not kept.
 *
 * <p>The pool knows every array that is in use. So it always detects the return of a foreign array,
 * and a second return.
 *
 * <p>Thread-safe, also for virtual threads. What a thread did with an array before its return
 * happens before what the next holder does with it.
 *
 * @param <A> the arrays, such as {@code float[]}
 */
public interface ArrayPool<A> extends AutoCloseable {
  /** When arrays are filled with zeros. A new array is all zeros in any case. */
  enum Clearing {
    /** Never: an array holds whatever its last holder left there. */
    NEVER,

    /** When an array that had a holder before is rented. */
    ON_RENT,

    /** When an array comes back, so that the pool keeps none of its contents. */
    ON_RETURN
  }

  /**
   * Returns a pool of its own that keeps at most 64 MiB and clears nothing.
   *
   * @throws IllegalArgumentException if the elements are records
   */
  static <A> ArrayPool<A> create(ElementType<A> type) {
    return create(type, 64L << 20, Clearing.NEVER);
  }

  /**
   * Returns a pool of its own.
   *
   * @param maximumBytes of idle arrays that are kept; what comes back beyond that is left to the
   *     collector
   * @param clearing when arrays are filled with zeros
   * @throws IllegalArgumentException if the elements are records, or {@code maximumBytes} is
   *     negative
   */
  static <A> ArrayPool<A> create(ElementType<A> type, long maximumBytes, Clearing clearing) {
    return TidepoolRuntime.installed().createArrayPool(type, maximumBytes, clearing);
  }

  /** Returns what the arrays hold. */
  ElementType<A> elementType();

  /**
   * Returns an array of at least that many elements that has no other holder.
   *
   * @param minimumLength 0 or more
   * @throws IllegalArgumentException if it is negative
   * @throws IllegalStateException if the pool is closed
   */
  A rent(int minimumLength);

  /**
   * Takes an array back; the caller must not use it any more.
   *
   * @throws IllegalArgumentException if the array is not of this pool
   * @throws IllegalStateException if it was given back already
   */
  void giveBack(A array);

  /** Leaves idle arrays to the collector; returns how many bytes. */
  long trim();

  /** Returns the figures now; takes time in proportion to the arrays. */
  ArrayPoolStatistics statistics();

  /** Leaves idle arrays to the collector, and those that come back later. Idempotent. */
  @Override
  void close();
}
