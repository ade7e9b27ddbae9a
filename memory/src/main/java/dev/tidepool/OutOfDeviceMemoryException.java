package dev.tidepool;

/**
 * There is no room: in the memory of a device or of the host, in a folder for shared buffers, or
 * within a limit or a reservation.
 *
 * <p>A manager throws this for a buffer after it gave back everything that could be given back. The
 * message lists what was tried. A request that this would not help fails at once: one that is
 * larger than the device allows or than a reservation can be, one for a file on a full disk, or one
 * for memory that no manager pools.
 */
public class OutOfDeviceMemoryException extends TidepoolException {
  private static final long serialVersionUID = 1L;

  private final long requestedBytes;
  private final long freeBytes;
  private final long totalBytes;
  private final long pooledBytes;
  private final long largestIdleBytes;

  /**
   * Creates the exception for a request that could not be met. Unknown byte counts are -1.
   *
   * @param message what was requested of which accelerator, and what was tried
   */
  public OutOfDeviceMemoryException(
      String message, long requestedBytes, long freeBytes, long totalBytes, long pooledBytes) {
    this(message, requestedBytes, freeBytes, totalBytes, pooledBytes, -1);
  }

  /**
   * Creates the exception for a request that could not be met although a pool had a block of {@code
   * largestIdleBytes}.
   */
  public OutOfDeviceMemoryException(
      String message,
      long requestedBytes,
      long freeBytes,
      long totalBytes,
      long pooledBytes,
      long largestIdleBytes) {
    super(message);
    this.requestedBytes = requestedBytes;
    this.freeBytes = freeBytes;
    this.totalBytes = totalBytes;
    this.pooledBytes = pooledBytes;
    this.largestIdleBytes = largestIdleBytes;
  }

  /** Bytes that were asked for. */
  public long requestedBytes() {
    return requestedBytes;
  }

  /**
   * Bytes that were free at that time, in the memory or under the limit of the manager, whichever
   * is less; or -1.
   */
  public long freeBytes() {
    return freeBytes;
  }

  /** Bytes that the memory has in all, or -1. */
  public long totalBytes() {
    return totalBytes;
  }

  /** Bytes that lay idle in pools at that time, or -1. */
  public long pooledBytes() {
    return pooledBytes;
  }

  /** Bytes of the largest single block that lay idle in pools at that time; 0 for none, or -1. */
  public long largestIdleBytes() {
    return largestIdleBytes;
  }
}
