package dev.tidepool.pool.block;

import java.util.function.LongSupplier;

/**
 * Memory that was seen idle in a pool, and that one call gives back to the source. It serves
 * callers that free blocks of several pools in one order. Another thread may have taken the memory
 * since.
 *
 * @param bytes what comes back with it
 * @param age the less, the earlier its source gave it, among the pieces of all pools
 * @param freeing gives it back to the source if it is idle; returns how many bytes that gave back
 */
public record ReclaimHandle(long bytes, long age, LongSupplier freeing) {
  /** Gives it back to the source if it is idle; how many bytes that gave back. */
  public long free() {
    return freeing.getAsLong();
  }
}
