package dev.tidepool.transfer;

/** A listener for the progress of a list of transfers. */
@FunctionalInterface
public interface TransferProgress {
  /** A listener that ignores the progress. */
  TransferProgress NONE = (_, _) -> {};

  /**
   * Called after chunks and pairs, on threads that transfer bytes, so it should be short. Each byte
   * counts once, however often its transfer is tried. There is one call at a time, never with fewer
   * bytes than before, and none after the report. Exceptions are logged. The listener must not
   * close the manager, which would wait for the transfer: this throws {@link
   * IllegalStateException}. Nor may it wait for operations on a buffer of the list, or for all
   * operations of the manager: these wait for the transfer, which waits for the listener. Nor may
   * it wait for other asynchronous transfers, which may need its thread.
   *
   * @param bytes the bytes of all pairs that were submitted to a device or have arrived
   * @param totalBytes the bytes of all pairs that could be started
   */
  void progressed(long bytes, long totalBytes);
}
