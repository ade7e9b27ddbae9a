package dev.tidepool.diagnostics;

import dev.tidepool.MemoryOptions;

/**
 * Memory fills up: what {@link MemoryOptions#pressureListener()} is called with.
 *
 * @param source whose memory it is
 * @param accelerator the id of the accelerator, such as {@code cuda:0}
 * @param watermark the part that was reached, from 0 to 1
 * @param usedBytes bytes in use at that moment
 * @param totalBytes what the watermark is a part of
 */
public record MemoryPressure(
    Source source, String accelerator, double watermark, long usedBytes, long totalBytes) {
  /** The owner of the memory that fills up. */
  public enum Source {
    /**
     * The manager's: {@code usedBytes} are what it holds, {@code totalBytes} its limit, or the
     * device's memory where it has none.
     */
    MANAGER,
    /** The device's, including what other processes use. */
    DEVICE
  }
}
