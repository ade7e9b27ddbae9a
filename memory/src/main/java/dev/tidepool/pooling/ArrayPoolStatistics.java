package dev.tidepool.pooling;

/**
 * Figures of an {@link ArrayPool}; exact while no thread uses it. Bytes are those of the elements,
 * including rounding to size classes.
 *
 * @param rents arrays that were rented
 * @param hits rents that an idle array served
 * @param idleArrays arrays that are idle now
 * @param idleBytes the bytes of idle arrays
 * @param rentedArrays arrays that have a holder now
 * @param rentedBytes the bytes of rented arrays
 * @param dropped arrays dropped for the garbage collector
 */
public record ArrayPoolStatistics(
    long rents,
    long hits,
    long idleArrays,
    long idleBytes,
    long rentedArrays,
    long rentedBytes,
    long dropped) {
  /** Returns the share of rents that needed no new array, 0 to 1; 0 before the first. */
  public double hitRate() {
    return rents == 0 ? 0 : (double) hits / rents;
  }
}
