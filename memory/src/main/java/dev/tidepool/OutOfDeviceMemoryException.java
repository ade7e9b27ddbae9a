package dev.tidepool;

/**
 * No memory is available, neither on the device nor on the host.
 *
 * <p>Thrown after everything that could be given back was; the message lists what was tried.
 */
public class OutOfDeviceMemoryException extends TidepoolException {
  private static final long serialVersionUID = 1L;

  private final long requestedBytes;
  private final long freeBytes;
  private final long totalBytes;
  private final long pooledBytes;
  private final long largestIdleBytes;

  /**
   * Creates the exception for a request that could not be met. Byte counts that nobody knows are
   * -1.
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

  /** Bytes that were free at that time, or -1. */
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
