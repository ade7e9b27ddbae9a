package dev.tidepool;

/**
 * Thrown if there is no room in the memory of a device or of the host, in a folder for shared
 * buffers, or within a limit or a reservation.
 *
 * <p>A manager throws this for a buffer after it freed everything that can be freed. The message
 * lists what was tried. A request fails at once if freeing memory would not help: it is larger than
 * the device allows or than a reservation can be, or it is for a file on a full disk or for memory
 * that no manager pools.
 */
public class OutOfDeviceMemoryException extends TidepoolException {
  private static final long serialVersionUID = 1L;

  private final long requestedBytes;
  private final long freeBytes;
  private final long totalBytes;
  private final long pooledBytes;
  private final long largestIdleBytes;

  /**
   * Creates an exception for a failed request. Unknown byte counts are -1.
   *
   * @param message the request, the accelerator, and what was tried
   */
  public OutOfDeviceMemoryException(
      String message, long requestedBytes, long freeBytes, long totalBytes, long pooledBytes) {
    this(message, requestedBytes, freeBytes, totalBytes, pooledBytes, -1);
  }

  /**
   * Creates an exception for a request that failed although a pool had a block of {@code
   * largestIdleBytes}. Unknown byte counts are -1.
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

  /** Returns the requested bytes. */
  public long requestedBytes() {
    return requestedBytes;
  }

  /**
   * Returns the bytes that were free at that time, in the memory or under the manager's limit,
   * whichever is less; -1 if unknown.
   */
  public long freeBytes() {
    return freeBytes;
  }

  /** Returns the size of the memory in bytes; -1 if unknown. */
  public long totalBytes() {
    return totalBytes;
  }

  /** Returns the bytes that were idle in pools at that time; -1 if unknown. */
  public long pooledBytes() {
    return pooledBytes;
  }

  /**
   * Returns the bytes of the largest single block that was idle in pools at that time; 0 if there
   * was none, -1 if unknown.
   */
  public long largestIdleBytes() {
    return largestIdleBytes;
  }
}
