package dev.tidepool.diagnostics;

import dev.tidepool.UnifiedMemoryManager;
import java.util.Map;

/**
 * What one call of {@link UnifiedMemoryManager#suspend()} did.
 *
 * @param movedBuffers buffers that gave up their memory on the device
 * @param movedBytes the bytes of those buffers
 * @param returnedBytes bytes that went back to the driver: memory of buffers, and idle blocks of
 *     the pools
 * @param leftBytes bytes of buffers that stay on the device, by reason; without reasons that no
 *     buffer has
 */
public record Suspension(
    long movedBuffers, long movedBytes, long returnedBytes, Map<Reason, Long> leftBytes) {

  /** Why a buffer stays on the device. */
  public enum Reason {
    /**
     * Native code has it: see {@link UnifiedMemoryManager#lend}, or it was exported from the
     * device.
     */
    LENT,
    /**
     * Host and device use the same memory, and it is mapped or was handed out by {@link
     * dev.tidepool.UnifiedBuffer#asSegment()}.
     */
    HOST_VIEW,
    /** Another library allocated it: see {@link UnifiedMemoryManager#adopt}. */
    ADOPTED,
    /** Other processes use the same memory of the device. */
    OTHER_PROCESSES,
    /** Host and device use the same memory, and the manager has no {@code spill-directory}. */
    NO_SPILL_DIRECTORY,
    /** Neither the host nor the spill file has room, or the bytes could not be moved. */
    NO_ROOM
  }

  /** Keeps its own copy. */
  public Suspension {
    leftBytes = Map.copyOf(leftBytes);
  }

  /** Returns the sum of {@link #leftBytes()}. */
  public long leftBytesInAll() {
    return leftBytes.values().stream().mapToLong(Long::longValue).sum();
  }
}
