package dev.tidepool.pool.block;

/** What a block and its leases ask of the pool that they belong to. */
public abstract class PoolCallbacks {
  /** For pools of this package. */
  PoolCallbacks() {}

  /** Returns the name that messages use. */
  public abstract String name();

  /** Implements {@link PooledBlock#giveBack}. */
  abstract void giveBack(PooledBlock block);

  /** Implements {@link PooledBlock#endDormancyAtOnce}. */
  abstract boolean giveBackAtOnce(PooledBlock block, long number);

  /** Implements {@link PooledBlock#discard}. */
  abstract void discard(PooledBlock block);

  /** Counts that a lease was given back a second time. */
  abstract void countRepeatedRelease();
}
