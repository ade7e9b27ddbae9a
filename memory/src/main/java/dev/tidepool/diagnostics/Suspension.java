package dev.tidepool.diagnostics;

import dev.tidepool.UnifiedMemoryManager;
import java.util.Map;

/**
 * The result of one call of {@link UnifiedMemoryManager#suspend()}.
 *
 * @param movedBuffers the buffers whose memory on the device was freed
 * @param movedBytes the bytes of those buffers
 * @param returnedBytes the bytes returned to the driver: memory of buffers, and idle blocks of the
 *     pools
 * @param leftBytes the bytes of buffers that stay on the device, by reason; reasons without a
 *     buffer are left out
 */
public record Suspension(
    long movedBuffers, long movedBytes, long returnedBytes, Map<Reason, Long> leftBytes) {

  /** Why a buffer stays on the device. */
  public enum Reason {
    /**
     * The buffer is {@linkplain UnifiedMemoryManager#lend lent} to native code, or was exported
     * from the device.
     */
    LENT,
    /**
     * Host and device use the same memory, and the buffer is mapped or was exposed by {@link
     * dev.tidepool.UnifiedBuffer#asSegment()}.
     */
    HOST_VIEW,
    /** Another library {@linkplain UnifiedMemoryManager#adopt allocated} the memory. */
    ADOPTED,
    /** Other processes use the same device memory. */
    OTHER_PROCESSES,
    /** Host and device use the same memory, and the manager has no {@code spill-directory}. */
    NO_SPILL_DIRECTORY,
    /** Neither the host nor the spill file has room, or the bytes could not be moved. */
    NO_ROOM
  }

  /** Copies the map. */
  public Suspension {
    leftBytes = Map.copyOf(leftBytes);
  }

  /** Returns the sum of {@link #leftBytes()}. */
  public long leftBytesInAll() {
    return leftBytes.values().stream().mapToLong(Long::longValue).sum();
  }
}
