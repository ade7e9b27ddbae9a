package dev.tidepool.pool.block;

import dev.tidepool.pooling.EvictionPolicy;

/**
 * Memory that was seen idle in a pool, and that one call gives back to the source. It serves
 * callers that free blocks of several pools in one order. Another thread may have taken the memory
 * since.
 */
public final class ReclaimHandle {
  private final Trimmer trimmer;
  private final Reclaimable piece;

  ReclaimHandle(Trimmer trimmer, Reclaimable piece) {
    this.trimmer = trimmer;
    this.piece = piece;
  }

  /** Bytes that come back with it. */
  public long bytes() {
    return piece.bytes();
  }

  /** The less, the earlier its source gave it, among the pieces of all pools. */
  public long age() {
    return piece.rank(EvictionPolicy.FIFO);
  }

  /** Gives it back to the source if it is idle; how many bytes that gave back. */
  public long free() {
    return trimmer.one(piece);
  }
}
