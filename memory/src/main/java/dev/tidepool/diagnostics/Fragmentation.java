package dev.tidepool.diagnostics;

import dev.tidepool.UnifiedMemoryManager;

/**
 * How scattered a manager's device memory is, at one moment.
 *
 * <p>Small buffers share larger blocks of the driver. When most of them have been closed, what is
 * left keeps such blocks from going back: their idle bytes serve further small buffers and nothing
 * else. {@link UnifiedMemoryManager#defragment()} frees them. Larger buffers have blocks of their
 * own, which leave no holes: drivers map pages to addresses as they like.
 *
 * @param freeBytes what is free: on the device, as far as its driver tells, and idle in the
 *     manager's pools of device memory
 * @param boundBytes idle bytes that only serve small buffers, because others beside them are in use
 * @param largestFreeBlock bytes that one buffer could have at most after idle blocks went back: the
 *     free bytes that are not bound, or the device's maximum for one block if that is less
 * @param isEstimate whether the driver does not tell what is free on the device
 */
public record Fragmentation(
    long freeBytes, long boundBytes, long largestFreeBlock, boolean isEstimate) {

  /** Returns the part of what is free that is bound, from 0 to 1; 0 if nothing is free. */
  public double ratio() {
    return freeBytes == 0 ? 0 : (double) boundBytes / freeBytes;
  }
}
