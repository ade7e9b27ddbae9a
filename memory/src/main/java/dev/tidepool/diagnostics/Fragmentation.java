package dev.tidepool.diagnostics;

import dev.tidepool.UnifiedMemoryManager;

/**
 * The fragmentation of a manager's device memory at one moment.
 *
 * <p>Small buffers share larger blocks of the driver. When most of them are closed, the remaining
 * ones prevent that their block is freed: its idle bytes serve only further small buffers. {@link
 * UnifiedMemoryManager#defragment()} frees these blocks. Larger buffers have their own blocks,
 * which leave no holes, because drivers map pages to any address.
 *
 * @param freeBytes bytes that are free on the device, as far as its driver reports them, or idle in
 *     the manager's pools of device memory
 * @param boundBytes idle bytes that serve only small buffers, because parts of the same block are
 *     in use
 * @param largestFreeBlock the most bytes that one buffer could have after idle blocks are freed:
 *     the free bytes that are not bound, or the device's maximum for one block if that is less
 * @param isEstimate whether the driver does not report the free bytes of the device
 */
public record Fragmentation(
    long freeBytes, long boundBytes, long largestFreeBlock, boolean isEstimate) {

  /** Returns the part of the free bytes that is bound, from 0 to 1; 0 if nothing is free. */
  public double ratio() {
    return freeBytes == 0 ? 0 : (double) boundBytes / freeBytes;
  }
}
