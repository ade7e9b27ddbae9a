package dev.tidepool.runtime.supply;

import dev.tidepool.ByteSize;
import dev.tidepool.OutOfDeviceMemoryException;

/** A reservation has no room for a buffer of its own. */
public final class ReservationFullException extends OutOfDeviceMemoryException {
  private static final long serialVersionUID = 1L;

  ReservationFullException(String reservation, long bytes, long usedBytes, long reservedBytes) {
    super(
        reservation
            + " of "
            + ByteSize.format(reservedBytes)
            + " leaves "
            + ByteSize.format(reservedBytes - usedBytes)
            + "; close buffers of it, or reserve more",
        bytes,
        reservedBytes - usedBytes,
        reservedBytes,
        -1);
  }
}
