package dev.tidepool;

/**
 * The state of an accelerator's memory at one moment.
 *
 * @param totalBytes all bytes of the memory
 * @param freeBytes the bytes that are free
 * @param freeIsEstimate whether the library computed {@code freeBytes} because the driver does not
 *     report it; memory of other processes is then not counted
 */
public record MemoryInfo(long totalBytes, long freeBytes, boolean freeIsEstimate) {}
