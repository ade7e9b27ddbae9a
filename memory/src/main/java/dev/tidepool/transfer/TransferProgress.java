package dev.tidepool.transfer;

/** Is called with the progress of a list of transfers. */
@FunctionalInterface
public interface TransferProgress {
  /** Ignores the progress. */
  TransferProgress NONE = (_, _) -> {};

  /**
   * Some bytes were handed over, each counted once however often its transfer is tried. This is
   * called after chunks and pairs, on threads that move bytes, so it should be short. There is one
   * call at a time, never with fewer bytes than before, and none after the report. What it throws
   * is logged. It must not close the manager, which waits for the transfer: that is an {@link
   * IllegalStateException}. Nor may it wait for work on a buffer of the list, or for all work of
   * the manager: that comes after the transfer, which waits for the listener.
   *
   * @param bytes of all pairs together that were handed to a device or have arrived
   * @param totalBytes of all pairs that could be started
   */
  void progressed(long bytes, long totalBytes);
}
