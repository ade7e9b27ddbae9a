package dev.tidepool.pool.block;

/** The idle blocks of a pool, as far as what is claimed and put back needs them. */
interface IdleSet {
  /** Takes a block if it is idle; returns whether it is the caller's now. */
  boolean take(PooledBlock block);

  /** Puts a block of the caller's down, even if the caps of the pool are exceeded by that. */
  void putAnyway(PooledBlock block);
}
