package dev.tidepool.runtime.supply;

import dev.tidepool.ByteSize;
import dev.tidepool.OutOfDeviceMemoryException;

/** What a device has free is kept for reservations. */
public final class ReservedMemoryException extends OutOfDeviceMemoryException {
  private static final long serialVersionUID = 1L;

  ReservedMemoryException(long bytes, long freeBytes, long totalBytes, long reservedBytes) {
    super(
        "of "
            + ByteSize.format(freeBytes)
            + " that are free, "
            + ByteSize.format(reservedBytes)
            + " are kept for reservations and requests that are under way",
        bytes,
        Math.max(0, freeBytes - reservedBytes),
        totalBytes,
        -1);
  }
}
