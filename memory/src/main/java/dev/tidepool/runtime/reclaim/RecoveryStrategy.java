package dev.tidepool.runtime.reclaim;

/** One way to free memory for a request that was refused. Used by the thread of that request. */
@FunctionalInterface
interface RecoveryStrategy {
  /**
   * Frees memory.
   *
   * @param bytes about how much is wanted before the request is tried again, at least 1
   * @return about how much has become free, and more than 0 if the request is to be tried again; 0
   *     if this way makes no more room
   */
  long free(long bytes);
}
