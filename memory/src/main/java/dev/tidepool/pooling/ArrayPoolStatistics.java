package dev.tidepool.pooling;

/**
 * What an {@link ArrayPool} has and has done; exact when no thread is using it. Bytes are those of
 * the elements, rounding to size classes included.
 *
 * @param rents arrays handed out
 * @param hits those of them that were idle before
 * @param idleArrays arrays that are idle now
 * @param idleBytes their bytes
 * @param rentedArrays arrays that have a holder now
 * @param rentedBytes their bytes
 * @param dropped arrays left to the collector
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
