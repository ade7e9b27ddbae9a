package dev.tidepool.runtime.supply;

import dev.tidepool.ByteSize;
import dev.tidepool.OutOfDeviceMemoryException;

/** A manager's own limit refused what its device might have given. */
public final class MemoryLimitException extends OutOfDeviceMemoryException {
  private static final long serialVersionUID = 1L;

  MemoryLimitException(long bytes, long usedBytes, long limitBytes) {
    super(
        "the memory-limit of "
            + ByteSize.format(limitBytes)
            + " leaves "
            + ByteSize.format(limitBytes - usedBytes),
        bytes,
        limitBytes - usedBytes,
        limitBytes,
        -1);
  }
}
