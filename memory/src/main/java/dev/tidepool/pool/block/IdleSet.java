package dev.tidepool.pool.block;

/** The idle blocks of a pool, for code that claims blocks and puts them back. */
interface IdleSet {
  /** Takes a block if it is idle. Returns whether the caller now owns it. */
  boolean take(PooledBlock block);

  /** Makes a block idle that the caller owns, even if this exceeds the caps of the pool. */
  void putAnyway(PooledBlock block);
}
