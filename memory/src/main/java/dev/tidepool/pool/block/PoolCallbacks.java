package dev.tidepool.pool.block;

/** The operations of a pool that its blocks and leases call. */
public abstract class PoolCallbacks {
  /** Restricts subclasses to this package. */
  PoolCallbacks() {}

  /** Returns the name that messages use. */
  public abstract String name();

  /** Implements {@link PooledBlock#giveBack}. */
  abstract void giveBack(PooledBlock block);

  /** Implements {@link PooledBlock#endDormancyAtOnce}. */
  abstract boolean giveBackAtOnce(PooledBlock block, long number);

  /** Implements {@link PooledBlock#discard}. */
  abstract void discard(PooledBlock block);

  /** Counts a repeated release of a lease. */
  abstract void countRepeatedRelease();
}
