package dev.tidepool;

/**
 * What an {@link ArrayPool} has (<i>current</i>) and has done (<i>cumulative</i>); exact when no
 * thread is using it. Bytes are those of the elements, rounding to size classes included.
 *
 * @param rents cumulative: arrays handed out
 * @param hits cumulative: those of them that were there already
 * @param idleArrays current: arrays that wait now
 * @param idleBytes current: their bytes
 * @param rentedArrays current: arrays that somebody holds now
 * @param rentedBytes current: their bytes
 * @param dropped cumulative: arrays left to the collector
 */
public record ArrayPoolStatistics(
    long rents,
    long hits,
    long idleArrays,
    long idleBytes,
    long rentedArrays,
    long rentedBytes,
    long dropped) {
  /** The share of rents that needed no new array, 0 to 1; 0 before the first. */
  public double hitRate() {
    return rents == 0 ? 0 : (double) hits / rents;
  }
}
