package dev.tidepool.pool.block;

import java.util.function.LongSupplier;

/**
 * Idle memory of a pool that one call returns to the source. Used to free memory of several pools
 * in one order. Another thread may have taken the memory since.
 *
 * @param bytes the bytes of the memory
 * @param age the order of allocation in all pools; the oldest has the smallest value
 * @param freeing returns the memory to the source if it is still idle, and returns the freed bytes
 */
public record ReclaimHandle(long bytes, long age, LongSupplier freeing) {
  /** Returns the memory to the source if it is still idle. Returns the freed bytes. */
  public long free() {
    return freeing.getAsLong();
  }
}
