package dev.tidepool.diagnostics;

import dev.tidepool.UnifiedMemoryManager;

/**
 * The result of one call of {@link UnifiedMemoryManager#defragment()}.
 *
 * @param movedBuffers buffers that were moved
 * @param movedBytes bytes that were copied
 * @param returnedBytes bytes that were returned to the driver
 */
public record Defragmentation(long movedBuffers, long movedBytes, long returnedBytes) {}
