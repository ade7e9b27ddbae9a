package dev.tidepool;

/**
 * An accelerator's memory at one moment.
 *
 * @param totalBytes all of it
 * @param freeBytes what is free
 * @param freeIsEstimate whether {@code freeBytes} is computed here, because the driver does not
 *     tell; what other processes use is then not counted
 */
public record MemoryInfo(long totalBytes, long freeBytes, boolean freeIsEstimate) {}
