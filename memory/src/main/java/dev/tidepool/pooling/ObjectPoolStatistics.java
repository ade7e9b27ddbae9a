package dev.tidepool.pooling;

/**
 * What an {@link ObjectPool} has and has done; exact when no thread is using it. Then {@code
 * created = destroyed + idle + leased}, and {@code destroyed} is the sum of the four causes after
 * it.
 *
 * @param gets objects handed out
 * @param hits those of them that were idle before
 * @param created objects made, for misses and to fill the pool
 * @param destroyed objects let go
 * @param evicted destroyed because the pool was full, or they were too old or idle too long
 * @param invalid destroyed because they were found invalid, or because resetting, validating or
 *     measuring them failed
 * @param oversized destroyed because they had grown above the largest size that is kept
 * @param discarded destroyed by {@link ObjectPool#discard}, or because the pool was closed
 * @param idle objects that are idle now
 * @param leased objects that have a holder now
 */
public record ObjectPoolStatistics(
    long gets,
    long hits,
    long created,
    long destroyed,
    long evicted,
    long invalid,
    long oversized,
    long discarded,
    long idle,
    long leased) {
  /** Returns the share of gets that needed no new object, 0 to 1; 0 before the first. */
  public double hitRate() {
    return gets == 0 ? 0 : (double) hits / gets;
  }

  /**
   * Returns the share of creations that the pool avoided, 0 to 1. Objects that filled the pool in
   * advance count as created.
   */
  public double allocationReduction() {
    return gets == 0 ? 0 : Math.max(0, 1 - (double) created / gets);
  }
}
