package dev.tidepool.runtime.reclaim;

/** One way to free memory for a request that was refused. Used by the thread of that request. */
@FunctionalInterface
interface RecoveryStrategy {
  /**
   * Frees memory.
   *
   * @param bytes about how many bytes to free before the request is repeated, at least 1
   * @return about how many bytes were freed, more than 0 if the request should be repeated; 0 if
   *     this strategy cannot free more
   */
  long free(long bytes);
}
