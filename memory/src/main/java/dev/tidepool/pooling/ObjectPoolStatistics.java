package dev.tidepool.pooling;

/**
 * Figures of an {@link ObjectPool}; exact while no thread uses it. Then {@code created = destroyed
 * + idle + leased}, and {@code destroyed} is the sum of the four causes that follow it.
 *
 * @param gets objects that were leased
 * @param hits leases of objects that were idle before
 * @param created objects created, for misses and to fill the pool
 * @param destroyed objects destroyed
 * @param evicted objects destroyed because the pool was full, or because they were too old or idle
 *     for too long
 * @param invalid objects destroyed because they were invalid, or because resetting, validating or
 *     measuring them failed
 * @param oversized objects destroyed because they exceeded the largest size that is kept
 * @param discarded objects destroyed by {@link ObjectPool#discard}, or because the pool was closed
 * @param idle objects that are idle now
 * @param leased objects that are leased now
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
