package dev.tidepool.diagnostics;

import dev.tidepool.MemoryOptions;

/**
 * Reports that memory fills up; the argument of {@link MemoryOptions#pressureListener()}.
 *
 * @param source which memory fills up
 * @param accelerator the id of the accelerator, such as {@code cuda:0}
 * @param watermark the part that was reached, from 0 to 1
 * @param usedBytes the bytes in use at that moment
 * @param totalBytes the bytes of which the watermark is a part
 */
public record MemoryPressure(
    Source source, String accelerator, double watermark, long usedBytes, long totalBytes) {
  /** The owner of the memory that fills up. */
  public enum Source {
    /**
     * The manager: {@code usedBytes} are the bytes that it holds, {@code totalBytes} its limit, or
     * the device's memory if it has none.
     */
    MANAGER,
    /** The device, including the memory of other processes. */
    DEVICE
  }
}
